// SPDX-License-Identifier: MIT
// What is tried with a Redis server behind the storm, one thing after another.
#pragma once

#include "simulation/scene/redis_trial.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace simulation {

class RedisTrials {
 public:
  /// @param mode of the clients' URL, where a trial has something to tell in each
  /// @param forget has the way to an inbox forgotten, and whoever judges that told
  RedisTrials(Room& room, redis::RedisModel& server, std::uint64_t seed, std::string mode,
              std::function<void(Connection&)> forget)
      : room_(room),
        server_(server),
        seed_(seed),
        mode_(std::move(mode)),
        forget_(std::move(forget)) {}
  /// Runs the world until they are over, or one has found something.
  void come(Judge& judge);
  /// The server has run a script.
  void runs(const redis::ScriptRun& run);
  /// @return how much they have asked of the server without a client.
  [[nodiscard]] std::uint64_t requests() const;

 private:
  template <class Kind, class... More>
  void come(Judge& judge, const std::string& mode, More... more);

  Room& room_;
  redis::RedisModel& server_;
  const std::uint64_t seed_;
  const std::string mode_;
  const std::function<void(Connection&)> forget_;
  std::vector<std::unique_ptr<RedisTrial>> all_;  // so far
};

}  // namespace simulation
