// SPDX-License-Identifier: MIT
// A store of your own for a server of your own: two clients of one lock server.
#include <mortise/mortise.hpp>

#include "lines.hpp"
#include "server.hpp"

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>

using namespace std::chrono_literals;

int main() try {
  own::LockServer server;
  // [backend]
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  mortise::Client mine(mortise::remote::backend(address, std::make_unique<own::Lines>()));
  // [/backend]
  mortise::Client theirs(mortise::remote::backend(address, std::make_unique<own::Lines>()));

  mortise::Lock lock = mine.make_lock("orders/42", {.label = "till 1"});
  const std::scoped_lock hold(lock);
  mortise::Lock other = theirs.make_lock("orders/42");
  const mortise::Guard guard(other, {.wait = 10ms});
  if (guard || !guard.holder()) return 1;
  std::cout << "held by " << guard.holder()->label << ", token " << lock.token().value() << "\n";
} catch (const std::exception& e) {
  std::cerr << "own_server_store: " << e.what() << "\n";
  return 1;
}
