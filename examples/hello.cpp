// SPDX-License-Identifier: MIT
// The first program: a lock that is held until Enter. A second run of it waits for the first one.
// usage: hello [url], such as redis://127.0.0.1 or postgresql:///orders
// [hello]
#include <mortise/mortise.hpp>

#include <iostream>

int main(int argc, char** argv) {
  mortise::Client client(argc > 1 ? argv[1] : "file:///tmp/locks?create=yes");
  mortise::Lock lock = client.make_lock("orders/42");
  mortise::Guard guard(lock, {.wait = std::chrono::seconds(10)});
  if (!guard) return 1;  // somebody else has it
  std::cout << "order 42 is mine, token " << guard.token().value() << "; Enter ends it\n";
  std::cin.get();
}  // and here it is free
// [/hello]
