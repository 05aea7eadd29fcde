// SPDX-License-Identifier: MIT
// The first lock on Redis. The program checks that the server can hold locks, takes a lock, prints
// its token and its deadline, and shows the result of unlock(). Other URLs work as well.
// usage: hello_redis redis://127.0.0.1:6379
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

namespace {

// [redis]
int greet(const std::string& url) {
  mortise::Client client(url);  // does not connect: a service can start while Redis is down
  client.check(5s);             // connects, and throws if locks cannot be taken

  mortise::Lock lock = client.make_lock("greeting", {.lease = 10s, .label = "hello"});
  mortise::Guard guard(lock, {.wait = 3s});
  if (!guard) {
    std::cout << "busy: " << (guard.holder() ? guard.holder()->label : "another client") << "\n";
    return 1;
  }
  const auto left = std::chrono::ceil<std::chrono::seconds>(guard.valid_for());
  std::cout << "held, token " << guard.token().value() << ", for " << left.count()
            << " s unless it is renewed\n";
  const bool stood = guard.unlock() == mortise::Released::released;
  std::cout << (stood ? "freed\n" : "lost, or the server has not replied\n");
  return stood ? 0 : 1;
}
// [/redis]

}  // namespace

int main(int argc, char** argv) try {
  return greet(argc > 1 ? argv[1] : "redis://127.0.0.1:6379");
} catch (const std::exception& e) {
  std::cerr << "hello_redis: " << e.what() << "\n";
  return 2;
}
