// SPDX-License-Identifier: MIT
// Senders that ask the order service until they have an answer, and remember each.
#pragma once

#include "drill/order_service.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace mortise::drill {

/// Random orders, shipments, transfers and looks at the stock, each at a random copy. Thread-safe.
class OrderLoad {
 public:
  /// Starts the senders. @param copies live as long as this
  OrderLoad(const ServiceCopies& copies, std::uint64_t seed);
  OrderLoad(const OrderLoad&) = delete;
  OrderLoad& operator=(const OrderLoad&) = delete;
  ~OrderLoad() { stop(); }
  /// No new requests; returns when each sender has its answer.
  void stop();

  /// Sends an order until there is an answer. @return what it is called, or "sold out"
  std::string order(const std::string& key, const Form& form);
  /// @return what each key was answered with.
  [[nodiscard]] std::map<std::string, std::string> ordered() const;
  /// @return the orders whose sender was told that they are shipped.
  [[nodiscard]] std::set<std::string> shipped() const;
  /// @return answers that cannot be, in words: none should be there.
  [[nodiscard]] std::vector<std::string> contradictions() const;

 private:
  struct Submission {
    std::string key;
    Form form;
  };
  void send(std::uint64_t seed, std::uint64_t sender);
  [[nodiscard]] Submission submission(std::mt19937_64& dice, const std::string& fresh);
  void ship(std::mt19937_64& dice);
  void transfer(std::mt19937_64& dice);
  void look_at_stock(std::mt19937_64& dice);
  /// Asks one copy after the other, until the answer is one that stands.
  [[nodiscard]] Answer until_answered(const std::string& what,
                                      const std::function<Answer(std::size_t copy)>& ask);
  void contradict(const std::string& words);

  const ServiceCopies& copies_;
  std::atomic<bool> stops_{false};
  std::atomic<std::size_t> next_copy_{0};
  mutable std::mutex mutex_;
  std::vector<Submission> recent_;
  std::vector<std::string> orders_;
  std::map<std::string, std::string> ordered_;
  std::set<std::string> shipped_;
  std::vector<std::string> contradictions_;
  std::vector<std::thread> senders_;
};

}  // namespace mortise::drill
