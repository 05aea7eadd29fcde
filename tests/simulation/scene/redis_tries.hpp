// SPDX-License-Identifier: MIT
// A new client tries while its inbox comes up, and the answer is late; meanwhile the holder lets
// go. What was asked once more because of the inbox would come behind that, and take the lock for
// nobody: whoever tries then would be told that it is held.
#pragma once

#include "simulation/scene/redis_trial.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace simulation {

class RedisTries final : public RedisTrial {
 public:
  RedisTries(Room& room, Judge& judge, redis::RedisModel& server, std::string url, Random random)
      : RedisTrial(room, judge, server, std::move(url), random) {}
  void come() override;
  void runs(const redis::ScriptRun& run) override;

 private:
  static constexpr auto lease = 6s;
  static constexpr const char* name = "tried/twice";
  /// In which an inbox has come up, with all that it is asked first.
  static constexpr Nanos to_come_up = 30ms;
  /// In which the holder has let go, and no time-out is over.
  static constexpr Nanos late = 100ms;

  void hold(mortise::Client& client);
  void try_first(mortise::Client& client);

  const Process* newcomer_ = nullptr;
  std::uint64_t asked_ = 0;  ///< how often the newcomer has
  bool held_ = false;
  bool freed_ = false;
  bool refused_ = false;
};

}  // namespace simulation
