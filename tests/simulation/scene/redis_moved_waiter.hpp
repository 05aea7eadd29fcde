// SPDX-License-Identifier: MIT
// While somebody waits, another machine takes over with all the data, and its clock is ahead. The
// grant that it pushes comes before any of its answers: by what the old one said of its clock the
// hold would end later than it does (S1).
#pragma once

#include "simulation/scene/redis_trial.hpp"

namespace simulation {

class RedisMovedWaiter final : public RedisTrial {
 public:
  RedisMovedWaiter(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                   Random random)
      : RedisTrial(room, judge, server, std::move(url), random) {}
  void come() override;
  void runs(const redis::ScriptRun& run) override;

 private:
  static constexpr auto lease = 12s;
  static constexpr const char* name = "moved/waiter";
  /// In which a few messages have come and gone.
  static constexpr Nanos to_arrive = 20ms;
  /// How long nobody is there.
  static constexpr Nanos away = 5ms;
  /// Less than the lease, or the hold would be over.
  static constexpr Nanos most_ahead = 5s;

  void hold(mortise::Client& client);
  void wait(mortise::Client& client);
  void move();

  const Process* waiter_ = nullptr;
  bool held_ = false;
  bool moved_ = false;     ///< what it answers to the waiter stays away from now on
  bool asked_ = false;     ///< the waiter, with its inbox, has asked the new machine
  bool believed_ = false;  ///< the grant
};

}  // namespace simulation
