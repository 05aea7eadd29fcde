// SPDX-License-Identifier: MIT
// Once does what a lock cannot do: a payment that is submitted nine times is charged once, and
// every caller gets the same receipt. The first run fails after the charge. The next run asks the
// bank before it charges again. usage: charge_once [url]
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct Order {
  std::string id;
  int cents = 0;
};

/// Takes money. Like any payment service it can be asked whether it has charged an order.
class Bank {
 public:
  std::string charge(const Order& order, mortise::Token token, bool loses_its_answer) {
    const std::lock_guard hold(mutex_);
    if (token < newest_[order.id]) throw std::runtime_error("an older run");
    newest_[order.id] = token;
    const std::string receipt = "receipt " + std::to_string(++receipts_) + " for " + order.id;
    charges_.emplace(order.id, receipt);
    if (loses_its_answer) throw std::runtime_error("no answer from the bank");
    return receipt;
  }
  [[nodiscard]] std::optional<std::string> find(const Order& order) const {
    const std::lock_guard hold(mutex_);
    const auto found = charges_.find(order.id);
    return found == charges_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::size_t charges() const {
    const std::lock_guard hold(mutex_);
    return charges_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, mortise::Token> newest_;
  std::multimap<std::string, std::string> charges_;
  int receipts_ = 0;
};

std::string hash(const Order& order) { return order.id + "/" + std::to_string(order.cents); }

std::string pay(mortise::Client& client, Bank& bank, const Order& order, bool fails = false) {
  // [once]
  mortise::Once payment = client.make_once("payment/" + order.id,
                                           {.keep = 24h, .fingerprint = hash(order), .wait = 10s});

  const mortise::Outcome outcome = payment.run([&](mortise::Run& run) -> std::string {
    if (run.number() > 1) {  // an earlier run died or failed: has it charged?
      if (const auto receipt = bank.find(order)) return *receipt;
    }
    return bank.charge(order, run.token(), fails);  // the store records the receipt
  });

  switch (outcome.state()) {
    case mortise::KeyState::succeeded: return outcome.result();  // of this run or an earlier one
    case mortise::KeyState::failed: return "refused: " + outcome.reason();
    default: return outcome.lost() ? "ask again: the lease ended" : "ask again: still running";
  }
  // [/once]
}

}  // namespace

int main(int argc, char** argv) try {
  mortise::Client client(argc > 1 ? argv[1] : "memory:");
  Bank bank;
  const std::string run_of_this_program =
      std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
  const Order order{"order " + run_of_this_program, 1'999};

  try {
    pay(client, bank, order, true);
  } catch (const std::runtime_error& error) {
    std::cout << "first try: " << error.what() << "\n";
  }
  std::vector<std::string> receipts(8);
  {
    std::vector<std::jthread> workers;
    for (std::string& receipt : receipts) {
      workers.emplace_back([&] { receipt = pay(client, bank, order); });
    }
  }
  for (const std::string& receipt : receipts) {
    if (receipt != receipts.front()) throw std::runtime_error("two receipts");
  }
  std::error_code ec;
  mortise::Once other = client.make_once("payment/" + order.id, {.fingerprint = "another order"});
  other.run([] {}, ec);
  std::cout << "8 more: " << receipts.front() << "\n"
            << "the same key for another order: " << ec.message() << "\n"
            << "charged " << bank.charges() << " time(s)\n";
  return bank.charges() == 1 && ec == mortise::Errc::mismatch ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "charge_once: " << e.what() << "\n";
  return 1;
}
