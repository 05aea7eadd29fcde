// SPDX-License-Identifier: MIT
// The first program with Mortise: a lock with the standard's guards, and with the library's own,
// which knows everything that a lock on a server has.
// usage: quickstart [url]
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace {

struct Busy {
  std::optional<mortise::Holder> holder;
};

void ship(const std::string& order) { std::cout << order << ": shipped\n"; }

void charge(const std::string& order, mortise::Token token) {
  std::cout << order << ": charged, token " << token.value() << "\n";
}

void roll_back(const std::string& order) { std::cout << order << ": rolled back\n"; }

std::optional<Busy> serve(const std::string& url, const std::string& order,
                          std::stop_token shutdown) {
  // [quickstart]
  mortise::Client client(url);  // redis://10.0.0.1:6379, file:///var/lib/shop/locks, memory:, ...
  mortise::Lock lock = client.make_lock("orders/42");

  {
    std::scoped_lock hold(lock);  // std Lockable and TimedLockable; reentrant
    ship(order);
  }

  mortise::Guard guard(lock, {.wait = 2s, .stop = shutdown});
  if (!guard) return Busy{guard.holder()};              // contention is a value, not an error
  charge(order, guard.token());                         // the store refuses older tokens
  if (guard.lost().stop_requested()) roll_back(order);  // a std::stop_token, fires once
  // [/quickstart]
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::stop_source shutdown;  // a service requests the stop when it is told to end
  const auto busy = serve(argc > 1 ? argv[1] : "memory:", "order 42", shutdown.get_token());
  if (!busy) return 0;
  std::cout << "busy: " << (busy->holder ? busy->holder->label : "somebody") << " holds the lock\n";
  return 1;
} catch (const std::exception& e) {
  std::cerr << "quickstart: " << e.what() << "\n";
  return 1;
}
