// SPDX-License-Identifier: MIT
// A backend of your own with the library's locks: two clients of one board.
#include <mortise/mortise.hpp>

#include "board.hpp"

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>

using namespace std::chrono_literals;

int main() try {
  const auto board = std::make_shared<own::Board>();
  mortise::Client mine(std::make_unique<own::BoardBackend>(board));
  mortise::Client theirs(std::make_unique<own::BoardBackend>(board));

  mortise::Lock lock = mine.make_lock("orders/42", {.label = "till 1"});
  const std::scoped_lock hold(lock);
  mortise::Lock other = theirs.make_lock("orders/42");
  const mortise::Guard guard(other, {.wait = 10ms});
  if (guard || !guard.holder()) return 1;
  std::cout << "held by " << guard.holder()->label << ", token " << lock.token().value() << "\n";
} catch (const std::exception& e) {
  std::cerr << "own_backend: " << e.what() << "\n";
  return 1;
}
