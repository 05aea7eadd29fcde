// SPDX-License-Identifier: MIT
// Orders that are charged once and shipped once, even if a copy of the service dies or is stopped.
#pragma once

#include <mortise/mortise.hpp>

#include <prometheus/collectable.h>
#include <prometheus/registry.h>

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
  /// @param key chosen by the sender, the same each time
  std::string order(const std::string& key, const std::string& item, int quantity, int amount);
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

 private:
  [[nodiscard]] mortise::AcquireOptions patience() const;
  void get_label(const std::string& order);

  Settings settings_;
  std::stop_source stop_;
  std::shared_ptr<prometheus::Registry> registry_;
  mortise::Client database_;
  mortise::Client redis_;
  std::shared_ptr<prometheus::Collectable> waits_;
};

}  // namespace shop
