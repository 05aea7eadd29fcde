// SPDX-License-Identifier: MIT
// The first lock on a majority of independent Redis servers. What is different from one server: an
// address that leads nowhere costs its vote and nothing else, so it is told by no error; and some
// promises are not made, which a program asks of the client once, at its start.
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
  mortise::Client client(url);
  client.check(5s);  // a majority can be reached

  const mortise::Capabilities can = client.capabilities();
  std::cout << "keys with a memory: " << (can.once == mortise::Support::yes ? "yes" : "no")
            << ", survives the loss of a server: "
            << (can.survives_failover == mortise::Support::yes ? "yes" : "no") << "\n";

  mortise::Lock lock = client.make_lock("greeting", {.lease = 10s});
  const mortise::Guard guard(lock, {.wait = 3s});
  if (!guard) {
    std::cout << guard.error_text() << "\n";
    return 1;
  }
  // What the round of votes took is gone from it, and the drift of the clocks.
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
