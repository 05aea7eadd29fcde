// SPDX-License-Identifier: MIT
// A step of docs/tutorial.md: a unit test without a server and without waiting. The store is in
// memory, and the test moves the clock.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

using namespace std::chrono_literals;

namespace {

// The code under test. The caller passes the client, so a test can use a store in memory.
bool ship(mortise::Client& client, const std::string& order) {
  const mortise::Guard guard(client, "orders/" + order, 0s);
  return static_cast<bool>(guard);  // a real service ships here
}

bool test_of_ship() {
  // [test]
  const auto clock = std::make_shared<mortise::ManualClock>();
  mortise::memory::Server server(clock);
  mortise::Client dies(server.backend(), {.clock = clock});
  mortise::Client lives(server.backend(), {.clock = clock});

  const mortise::Guard guard(dies, "orders/42");
  const bool refused = !ship(lives, "42");  // the other client holds the lock
  clock->advance(31s);                      // longer than the lease of 30 s
  return refused && ship(lives, "42") && guard.valid_for() == 0s;
  // [/test]
}

}  // namespace

int main() try {
  const bool passed = test_of_ship();
  std::cout << (passed ? "passed\n" : "failed\n");
  return passed ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "tutorial_test: " << e.what() << '\n';
  return 2;
}
