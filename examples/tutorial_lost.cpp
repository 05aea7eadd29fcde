// SPDX-License-Identifier: MIT
// A step of docs/tutorial.md: a program that stops its work when it loses the lock. The environment
// variable MORTISE_URL names the store.
#include <mortise/mortise.hpp>

#include <chrono>
#include <iostream>
#include <thread>

using namespace std::chrono_literals;

int main() try {
  // [lost]
  mortise::Client client = mortise::Client::from_env();
  mortise::Guard guard(client, "orders/42", {.wait = 2s}, {.lease = 3s, .label = "packer"});
  if (!guard) return 1;
  std::cout << "packing order 42\n" << std::flush;
  while (!guard.lost().stop_requested()) {
    std::this_thread::sleep_for(100ms);  // pack one item
  }
  std::cout << "lost the lock, so packing stops\n";
  // [/lost]
} catch (const mortise::Error& e) {
  std::cerr << "tutorial_lost: " << e.what() << '\n';
  return 2;
}
