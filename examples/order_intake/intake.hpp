// SPDX-License-Identifier: MIT
// The way of an order through the shop: accepted once at a counter, taken from the counter's list
// by the one worker that drains it, and charged once.
#pragma once

#include <mortise/mortise.hpp>

#include "redis.hpp"

#include <string>

namespace shop {

/// The customers are spread over so many lists; the orders of one list are charged in turn.
inline constexpr int counters = 4;

/// What one worker, or one who submits, needs.
struct Intake {
  mortise::Client client;
  Redis redis;
  std::string day;  ///< before the names of all keys; the intake of another day is another one

  /// @return the name of a key in Redis.
  [[nodiscard]] std::string name(const std::string& what, int counter = -1) const {
    return day + "/" + what + (counter < 0 ? "" : std::to_string(counter));
  }
};

/// Accepts an order, once, however often and by however many it is submitted.
/// @return whether it is new
bool submit(Intake& intake, int counter, const std::string& order);

/// Drains the counters, beside other workers, until the day is closed and each order is settled.
/// @param dies_over a worker that charges this order as the first one is killed behind the charge
void work(Intake& intake, const std::string& dies_over);

}  // namespace shop
