// SPDX-License-Identifier: MIT
// The first program: it holds a lock until you press Enter. A second copy waits for two seconds.
// usage: hello [url], such as redis://127.0.0.1 or postgresql:///orders
// [hello]
#include <mortise/mortise.hpp>

#include <iostream>

using namespace std::chrono_literals;

int main(int argc, char** argv) try {
  mortise::Client client(argc > 1 ? argv[1] : "file:///tmp/locks?create=yes");
  mortise::Guard guard(client, "orders/42", 2s);  // waits up to two seconds
  if (!guard) {                                   // another process holds the lock
    std::cerr << guard.error_text() << '\n';
    return 1;
  }
  std::cout << "holding orders/42, fencing token " << guard.token() << "; press Enter\n";
  std::cin.get();
} catch (const mortise::Error& e) {  // the store is down, refuses the user, or the URL is wrong
  std::cerr << e.what() << '\n';
  return 2;
}  // the guard has freed the lock
// [/hello]
