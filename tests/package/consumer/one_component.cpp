// SPDX-License-Identifier: MIT
// A user's program that links one component and names its backend itself.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <iostream>
#include <mutex>

int main() {
  mortise::Client client(mortise::memory::backend("memory:"));
  mortise::Lock lock = client.make_lock("package");
  const std::scoped_lock hold(lock);
  std::cout << "token " << lock.token().value() << "\n";
}
