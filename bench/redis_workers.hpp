// SPDX-License-Identifier: MIT
// Worker processes that all want one name, hold it for a moment and think for a moment.
#pragma once

#include "redis_server.hpp"

#include <string>

namespace mortise::bench {

struct Work {
  double commands_per_grant = 0;  ///< that clients have sent, of those that call scripts
  double least_by_most = 0;       ///< the smallest share of a worker / the largest
};

/// Has `workers` processes, each with a client of its own, hold a lock for 1 ms, think for 1 ms,
/// and so on, and counts for two seconds in which all of them work.
[[nodiscard]] Work work(const RedisServer& server, int workers, const std::string& name);

}  // namespace mortise::bench
