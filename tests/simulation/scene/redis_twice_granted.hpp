// SPDX-License-Identifier: MIT
// A waiter is told by a message that it has the lock, and loses that to an administrator; its
// question, which was under way, takes the lock anew, and the answer is lost. Nobody knows of that
// hold: it is to be given back, and not to keep others out for a whole lease (S5).
#pragma once

#include "simulation/scene/redis_trial.hpp"

namespace simulation {

class RedisTwiceGranted final : public RedisTrial {
 public:
  RedisTwiceGranted(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                    Random random)
      : RedisTrial(room, judge, server, std::move(url), random) {}
  void come() override;
  void runs(const redis::ScriptRun& run) override;

 private:
  /// Of a command a client expects the answer for a sixth of it, and then it connects anew: not
  /// before the waiter's question.
  static constexpr auto lease = 8s;
  static constexpr const char* name = "twice/granted";
  /// In which a few messages have come and gone.
  static constexpr Nanos to_arrive = 20ms;
  /// In which its client has connected anew, and has given back what it does not know of; much less
  /// than the lease.
  static constexpr Nanos to_find_out = 3s;

  void rob(mortise::Client& client);
  void wait(mortise::Client& client);
  /// @return whether the waiter has asked, and that is still on its way.
  [[nodiscard]] bool comes_to_ask();
  void take_the_grant();

  const Process* waiter_ = nullptr;
  bool held_ = false;
  bool told_ = false;  ///< the waiter, of its grant
  bool lost_ = false;  ///< what its question is answered from now on
  bool over_ = false;
};

}  // namespace simulation
