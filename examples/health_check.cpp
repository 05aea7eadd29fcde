// SPDX-License-Identifier: MIT
// A health check for a load balancer: can this copy of the service take locks now? The store is in
// this process here, so that it can be made unreachable.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;

// [health]
/// Handles GET /ready. @return the HTTP status and the body
std::pair<int, std::string> ready(mortise::Client& client) try {
  client.check(500ms);  // connects if need be; the limit is shorter than the probe's own timeout
  return {200, "ready"};
} catch (const mortise::Error& error) {
  return {503, error.what()};  // names the server and the cause; it has no password
}
// [/health]

void print(const std::pair<int, std::string>& answer) {
  std::cout << answer.first << " " << answer.second << "\n";
}

}  // namespace

int main() try {
  mortise::memory::Server server;
  mortise::Client client(server.backend());
  print(ready(client));
  server.set_reachable(false);
  const auto down = ready(client);
  print(down);
  server.set_reachable(true);
  const auto up = ready(client);
  print(up);
  return down.first == 503 && up.first == 200 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "health_check: " << e.what() << "\n";
  return 2;
}
