// SPDX-License-Identifier: MIT
// Who waits for a key that somebody runs is told of its outcome when that is recorded, and not when
// it looks the next time (L2).
#pragma once

#include "simulation/scene/redis_trial.hpp"

namespace simulation {

class RedisToldOutcome final : public RedisTrial {
 public:
  RedisToldOutcome(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                   Random random)
      : RedisTrial(room, judge, server, std::move(url), random) {}
  void come() override;

 private:
  static constexpr auto lease = 8s;
  static constexpr auto patience = 10s;
  static inline const mortise::OnceOptions options{.wait = patience, .lease = lease};
  static constexpr const char* the_key = "told/outcome";
  static constexpr const char* its_result = "done";
  /// In which a few messages have come and gone.
  static constexpr Nanos to_arrive = 100ms;

  void run(mortise::Client& client);
  void wait(mortise::Client& client);

  bool runs_ = false;
  Nanos recorded_{0};  ///< when its run was told so; 0 = not yet
};

}  // namespace simulation
