// SPDX-License-Identifier: MIT
// The first lock on a majority of independent Redis servers. Two things differ from one server. An
// address that does not answer costs its vote, and causes no error. And the store lacks some
// features: a program asks for the capabilities once, at its start.
// usage: hello_redlock redlock://a,b,c
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

namespace {

// [redlock]
int greet(const std::string& url) {
  // [capabilities]
  mortise::Client client(url);
  client.check(5s);  // connects, and throws if locks cannot be taken

  const mortise::Capabilities can = client.capabilities();
  std::cout << "Once: " << can.once << ", survives the loss of a server: " << can.survives_failover
            << "\n";
  // [/capabilities]

  mortise::Lock lock = client.make_lock("greeting", {.lease = 10s});
  const mortise::Guard guard(lock, {.wait = 3s});
  if (!guard) {
    std::cout << guard.error_text() << "\n";
    return 1;
  }
  // The lease counts from before the first request of the vote, less a margin for drifting clocks.
  const auto left = std::chrono::floor<std::chrono::milliseconds>(guard.valid_for());
  std::cout << "held by a majority, token " << guard.token().value() << ", " << left.count()
            << " of 10000 ms left\n";
  return 0;
}
// [/redlock]

}  // namespace

int main(int argc, char** argv) try {
  return greet(argc > 1 ? argv[1] : "redlock://127.0.0.1:6379,127.0.0.1:6380,127.0.0.1:6381");
} catch (const std::exception& e) {
  std::cerr << "hello_redlock: " << e.what() << "\n";
  return 2;
}
