// SPDX-License-Identifier: MIT
// Orders that are charged once and shipped once, even if a copy of the service dies or is stopped.
#pragma once

#include <mortise/mortise.hpp>

#include <prometheus/collectable.h>
#include <prometheus/registry.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>

namespace shop {

/// An answer that is not a success: a status of HTTP, and `what()` is the body.
struct Refused : std::runtime_error {
  Refused(int code, const std::string& why) : std::runtime_error(why), status(code) {}
  int status;
};

/// @return the answer to a request that failed with this exception. A sender may repeat a request
/// that failed with 503.
Refused refusal_of(const std::exception_ptr& error);
/// @throws Refused if a guard or a permit holds nothing
void require(const auto& held) {
  if (!held) throw Refused(503, held.error_text());
}

struct Order {
  std::string key;  ///< chosen by the sender, the same each time
  std::string item;
  int quantity;
  int amount;
};

struct Settings {
  std::string database;  ///< URL of PostgreSQL
  std::string redis;     ///< URL of Redis
  std::string partner;   ///< host:port of the partner that prints labels
};

/// One copy of the service. It has two clients. The locks of work that is one transaction are in
/// the database: it does not commit for a holder that was replaced. The locks that are held while
/// the partner works are in Redis: their tokens fence the data.
///
/// Every call returns the body of its answer, and throws `Refused`, `mortise::Error`, or
/// `std::runtime_error` of the database.
/// @thread_safety every member may be called concurrently.
class Shop {
 public:
  /// Connects to nothing yet.
  explicit Shop(Settings settings);

  /// Asks both stores whether locks can be taken.
  std::string health();
  /// @return the metrics of the locks for Prometheus, with the names that threads wait for now.
  std::string metrics() const;

  /// Charges an order once, even if it is sent several times and to several copies.
  std::string order(const Order& order);
  /// Gets a label from the partner and ships the order, once.
  std::string ship(const std::string& order);
  /// @return how many of an item are left and how many were sold. The two always add up.
  std::string stock(const std::string& item);
  /// Moves money. A sender without an answer has to look before it sends the same again.
  std::string transfer(const std::string& from, const std::string& to, int amount);
  /// Closes a day once. Every copy may call it. @return whether this call closed the day
  bool close_day(const std::string& day);

  /// Ends all waits, now and later: requests that wait are refused.
  void stop_waiting() { stop_.request_stop(); }

  // The parts of `order()`, `ship()` and `stock()`, for a caller that waits without a thread: the
  // locks, and the transactions under these locks. A transaction blocks its thread.

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] mortise::AcquireOptions patience() const;
  mortise::Once key_of(const Order& order);
  mortise::ReadWriteLock shelf_of(const std::string& item);
  mortise::Lock lock_of(const std::string& order);
  mortise::Semaphore printers();
  /// Commits the order and the outcome of its key together.
  void sell(const Order& order, mortise::Run& run, const mortise::Guard& writing);
  /// @return the body of the answer to an order
  static std::string answer_of(const mortise::Outcome& outcome);
  bool is_shipped(const std::string& order);
  void note_shipment(const std::string& order, mortise::Token token);
  std::string count(const std::string& item, const mortise::Guard& reading);

 private:
  void get_label(const std::string& order);

  Settings settings_;
  std::stop_source stop_;
  std::shared_ptr<prometheus::Registry> registry_;
  mortise::Client database_;
  mortise::Client redis_;
  std::shared_ptr<prometheus::Collectable> waits_;
};

}  // namespace shop
