// SPDX-License-Identifier: MIT
// The store comes from the environment: MORTISE_URL=redis://127.0.0.1 from_environment
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>

using namespace std::chrono_literals;

// [environment]
int main() try {
  mortise::Client client = mortise::Client::from_env();  // reads MORTISE_URL
  client.check(2s);  // fails here, at the start, if the store cannot be used
  const mortise::Guard guard(client, "orders/42", 2s);
  if (!guard) return 1;
  std::cout << "holding orders/42, token " << guard.token().value() << "\n";
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 2;
}
// [/environment]
