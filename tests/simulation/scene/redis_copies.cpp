// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_copies.hpp"

#include "simulation/redis/numbers.hpp"
#include "simulation/scene/redis_request.hpp"

#include <chrono>

namespace simulation {
namespace {

using namespace std::chrono_literals;

/// A command may take four seconds if round trips take long, and the reading of the server's clock
/// may be a second old.
constexpr Nanos furthest = 5100ms;

}  // namespace

std::string RedisCopies::look(const Host& server, const redis::ScriptRun& run) const {
  const auto request = RedisRequest::in(run);
  if (!request || request->attempt.starts_with("cccccccc")) return {};  // see RedisCrowd
  const std::string attempt(request->attempt);
  const std::int64_t moment = redis::parse_integer(request->deadline).value_or(0);
  const Nanos left = std::chrono::microseconds(moment) - server.wall();
  if (!steps_ && left > furthest) {
    return "a request for " + attempt + " is not void for " + std::to_string(left.count()) +
           " ns, which is more than it may take";
  }
  if (left < -1us && (request->granted() || request->queued())) {
    return attempt + " gets " + std::string(request->answer) +
           " by a request that has been void for " + std::to_string(-left.count()) + " ns";
  }
  return {};
}

}  // namespace simulation
