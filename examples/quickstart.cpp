// SPDX-License-Identifier: MIT
// The main calls in one program: a lock with the guards of the standard library, the same lock with
// a Guard, which also has a time limit, a token and a notice of loss, and work that is done once.
// usage: quickstart [url]
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <map>
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

struct Bank {
  std::map<std::string, std::string> receipts;

  [[nodiscard]] bool has(const std::string& order) const { return receipts.contains(order); }
  std::string charge(const std::string& order) { return receipts[order] = "receipt of " + order; }
};

std::string pay(mortise::Client& client, Bank& bank, const std::string& order) {
  // [once]
  mortise::Once payment = client.make_once("payment/" + order, {.keep = 24h});
  const mortise::Outcome outcome = payment.run([&](mortise::Run& run) {
    if (run.number() > 1 && bank.has(order)) return bank.receipts[order];  // an earlier run died
    return bank.charge(order);
  });
  // [/once]
  return outcome.result();
}

std::optional<Busy> serve(const std::string& url, const std::string& order,
                          std::stop_token shutdown) {
  // [quickstart]
  mortise::Client client(url);  // redis://10.0.0.1:6379, file:///var/lib/shop/locks, memory:, ...
  mortise::Lock lock = client.make_lock("orders/42");

  {
    std::scoped_lock hold(lock);  // waits without a limit; reentrant
    ship(order);
  }

  mortise::Guard guard(lock, {.wait = 2s, .stop = shutdown});
  if (!guard) return Busy{guard.holder()};  // another owner holds the lock: not an error
  charge(order, guard.token());             // the database refuses smaller tokens
  if (guard.lost().stop_requested()) roll_back(order);  // a std::stop_token
  // [/quickstart]
  if (client.capabilities().once == mortise::Support::yes) {  // redlock: does not have it
    Bank bank;
    std::cout << pay(client, bank, order) << "\n";
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::stop_source shutdown;  // a service requests the stop when it shuts down
  const auto busy = serve(argc > 1 ? argv[1] : "memory:", "order 42", shutdown.get_token());
  if (!busy) return 0;
  std::cout << "busy: " << (busy->holder ? busy->holder->label : "another owner")
            << " holds the lock\n";
  return 1;
} catch (const std::exception& e) {
  std::cerr << "quickstart: " << e.what() << "\n";
  return 1;
}
