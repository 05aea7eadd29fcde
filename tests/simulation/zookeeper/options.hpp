// SPDX-License-Identifier: MIT
// How a simulated ensemble is set up; the names and defaults are those of zoo.cfg.
#pragma once

#include "simulation/server.hpp"

#include <chrono>

namespace simulation::zookeeper {

struct Options {
  Nanos tick = std::chrono::seconds(2);
  Nanos min_session{};  ///< zero: two ticks
  Nanos max_session{};  ///< zero: twenty ticks
  int sync_limit = 5;   ///< ticks of silence after which a server gives another one up
  int init_limit = 10;  ///< ticks in which a new leader has to be followed
  Nanos containers = std::chrono::minutes(1);  ///< how often the leader looks for empty ones

  // Between two servers: at least `latency`, up to `spread` more; one message in `slow_one_in`
  // takes up to `slow` more, and all behind it with it. That is what followers lag by.
  Nanos latency = std::chrono::microseconds(50);
  Nanos spread = std::chrono::microseconds(400);
  unsigned slow_one_in = 64;  ///< 0: none
  Nanos slow = std::chrono::milliseconds(30);

  /// One request in so many of a throttled server is answered by an error; 1: each.
  unsigned throttled_one_in = 2;
};

}  // namespace simulation::zookeeper
