// SPDX-License-Identifier: MIT
// The least that does something: two runs of it at once greet one after the other.
// usage: hello [url], such as redis://127.0.0.1 or file:///tmp/locks?create=yes
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <mutex>
#include <thread>

int main(int argc, char** argv) try {
  // [hello]
  mortise::Client client(argc > 1 ? argv[1] : "memory:");
  mortise::Lock lock = client.lock("greeting");

  const std::scoped_lock hold(lock);
  std::cout << "hello, nobody else is here\n";
  // [/hello]
  std::this_thread::sleep_for(std::chrono::seconds(1));
  std::cout << "goodbye, whoever is next\n";
} catch (const std::exception& e) {
  std::cerr << "hello: " << e.what() << "\n";
  return 2;
}
