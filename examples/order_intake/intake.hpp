// SPDX-License-Identifier: MIT
// The path of an order through the shop: a counter accepts it once, one worker takes it from the
// list of the counter, and charges it once.
#pragma once

#include <mortise/mortise.hpp>

#include "redis.hpp"

#include <string>

namespace shop {

/// The number of lists. Each customer belongs to one list, whose orders are charged in sequence.
inline constexpr int counters = 4;

/// The connections of one worker or one sender.
struct Intake {
  mortise::Client client;
  Redis redis;
  std::string day;  ///< the beginning of all names, so that days do not meet

  /// @return the name of a key in Redis.
  [[nodiscard]] std::string name(const std::string& what, int counter = -1) const {
    return day + "/" + what + (counter < 0 ? "" : std::to_string(counter));
  }
};

/// Accepts an order once, even if several senders submit it several times.
/// @return whether it is new
bool submit(Intake& intake, int counter, const std::string& order);

/// Drains the counters, together with other workers, until the day is closed and every order is
/// done.
/// @param dies_over the first worker that charges this order is killed after the charge
void work(Intake& intake, const std::string& dies_over);

}  // namespace shop
