// SPDX-License-Identifier: MIT
// The bank has charged, and its answer is lost: was the order paid? The next run of the payment
// knows that it is not the first, and asks the bank before it charges. A later scan finds payments
// that failed, or whose process died, and runs them again. usage: payment_retry [url]
#include <mortise/mortise.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;

// It charges an order again if it is asked again. It can also look up what it has charged.
class Bank {
 public:
  enum class Mood { well, out_of_reach, silent };

  std::string charge(const std::string& order, Mood mood) {
    if (mood == Mood::out_of_reach) throw std::runtime_error("the bank is out of reach");
    ++charges_[order];
    if (mood == Mood::silent) throw std::runtime_error("the bank has not answered");
    return "receipt of " + order;
  }
  [[nodiscard]] std::optional<std::string> receipt(const std::string& order) const {
    if (!charges_.contains(order)) return std::nullopt;
    return "receipt of " + order;
  }
  [[nodiscard]] int charges(const std::string& order) const {
    const auto found = charges_.find(order);
    return found == charges_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string, int> charges_;
};

// [pay]
mortise::Outcome pay(mortise::Client& client, Bank& bank, const std::string& order,
                     Bank::Mood mood) {
  mortise::Once payment = client.make_once("payment/" + order, {.keep = 24h});
  return payment.run([&](mortise::Run& run) {
    if (run.number() > 1) {  // an earlier run failed or died: it may have charged
      if (auto receipt = bank.receipt(order)) return *receipt;
    }
    return bank.charge(order, mood);  // an exception is recorded as the failure, and rethrown
  });
}
// [/pay]

void try_to_pay(mortise::Client& client, Bank& bank, const std::string& order, Bank::Mood mood) {
  try {
    std::cout << order << ": " << pay(client, bank, order, mood).result() << "\n";
  } catch (const std::runtime_error& error) {
    std::cout << order << ": " << error.what() << "\n";
  }
}

// Leaves what a process leaves that dies between the charge and the record of its outcome. (This
// process gives the run back instead. The lease of a dead process would have to end first.)
void pay_and_die(mortise::Client& client, Bank& bank, const std::string& order) {
  mortise::Once payment = client.make_once("payment/" + order, {.keep = 24h});
  const mortise::Run run = payment.begin();
  bank.charge(order, Bank::Mood::well);
  std::cout << order << ": charged, and then the process died\n";
}

// [scan]
void settle(mortise::Client& client, Bank& bank, const std::string& order) {
  const mortise::Outcome outcome = client.make_once("payment/" + order, {.keep = 24h}).look();
  const bool left = outcome.state() == mortise::KeyState::pending && !outcome.running();
  if (outcome.state() != mortise::KeyState::failed && !left) return;
  std::cout << order << ": was left " << (left ? "pending" : "failed: " + outcome.reason())
            << "; run " << outcome.number() + 1 << " ends with "
            << pay(client, bank, order, Bank::Mood::well).result() << "\n";
}
// [/scan]

bool demonstrate(const std::string& url) {
  mortise::Client client(url);
  Bank bank;
  const std::array<std::string, 4> orders{"order 1", "order 2", "order 3", "order 4"};
  try_to_pay(client, bank, orders[0], Bank::Mood::well);
  try_to_pay(client, bank, orders[1], Bank::Mood::silent);
  try_to_pay(client, bank, orders[2], Bank::Mood::out_of_reach);
  pay_and_die(client, bank, orders[3]);

  for (const std::string& order : orders) settle(client, bank, order);

  bool right = true;
  for (const std::string& order : orders) {
    const mortise::Outcome again = pay(client, bank, order, Bank::Mood::well);
    right = right && again.replayed() && bank.charges(order) == 1;
    client.make_once("payment/" + order).forget();  // so that the next demonstration finds nothing
  }
  std::cout << (right ? "four orders, each charged once\n" : "that went wrong\n");
  return right;
}

}  // namespace

int main(int argc, char** argv) try {
  return demonstrate(argc > 1 ? argv[1] : "memory:") ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "payment_retry: " << e.what() << "\n";
  return 1;
}
