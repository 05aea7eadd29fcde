// SPDX-License-Identifier: MIT
// A waiter whose call fails for good, since the server refuses its client something, or answers
// with rubbish. Its place in the queue is nobody's then, and whoever stands behind it could have to
// wait for it: it does not outlive three fallback periods (L3). Storms meet this by rubbish only,
// and hardly ever where somebody else holds the name for that long.
#pragma once

#include "simulation/scene/redis_trial.hpp"

namespace simulation {

class RedisRefusedWaiter final : public RedisTrial {
 public:
  RedisRefusedWaiter(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                     Random random)
      : RedisTrial(room, judge, server, std::move(url), random) {}
  void come() override;
  void runs(const redis::ScriptRun& run) override;

 private:
  static constexpr auto lease = 8s;
  static constexpr const char* name = "refused/waiter";
  /// In which a few messages have come and gone.
  static constexpr Nanos to_arrive = 20ms;
  /// For so long the server refuses things still: what is to be cancelled has to wait.
  static constexpr Nanos refusal = 200ms;
  /// Three fallback periods; what is cancelled behind a call has to find a connection first, and
  /// each of those has a second to answer.
  static constexpr Nanos to_be_gone = 4s;

  enum class Trouble { denied_inbox, denied_commands, rubbish, none };
  void hold(mortise::Client& client);
  void wait(mortise::Client& client);
  void make(Trouble trouble);

  const Process* waiter_ = nullptr;
  bool spoils_ = false;  ///< the next answer to it
  int asked_ = 0;        ///< how often the waiter was about to
  int failed_ = 0;       ///< of those calls
};

}  // namespace simulation
