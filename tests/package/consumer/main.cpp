// SPDX-License-Identifier: MIT
// A user's program: takes one lock and prints its fencing token.
#include <mortise/mortise.hpp>

#include <iostream>
#include <mutex>

int main() {
  mortise::Client client("memory:");
  mortise::Lock lock = client.make_lock("package");
  const std::scoped_lock hold(lock);
  std::cout << "token " << lock.token().value() << "\n";
}
