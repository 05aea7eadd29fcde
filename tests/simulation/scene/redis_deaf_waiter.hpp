// SPDX-License-Identifier: MIT
// A waiter that hears nothing. First its inbox is forgotten by what is between, which it is to find
// out (L2). Then it learns by asking that it has the lock, and the push of that grant comes just
// while it releases it: nothing of that hold is to be given back by whoever reads the push, and its
// release is told as one (S3). At last it hears nothing at all for longer than a provisional lease
// stands: that lapses in time (L1), and when the pushes of two grants come, the hold that it has by
// then stays (S1). A storm is hardly ever long enough for the first, and hardly ever holds up a
// push until the others.
#pragma once

#include "simulation/scene/redis_trial.hpp"

#include <functional>

namespace simulation {

class RedisDeafWaiter final : public RedisTrial {
 public:
  /// @param forget has the way to an inbox forgotten, and whoever judges that told
  RedisDeafWaiter(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                  Random random, std::function<void(Connection&)> forget)
      : RedisTrial(room, judge, server, std::move(url), random), forget_(std::move(forget)) {}
  void come() override;

 private:
  void hold(mortise::Client& client);
  [[nodiscard]] bool is_told() const;
  void free_for_the_deaf(mortise::Lock& lock);
  void wait(mortise::Client& client);
  void until_act(int act) const;
  [[nodiscard]] Connection* inbox() const { return inbox_of(*waiter_); }

  const std::function<void(Connection&)> forget_;
  /// Three of each round: it is held, it is waited for, it is released by the waiter.
  int act_ = 0;
  Process* waiter_ = nullptr;
};

}  // namespace simulation
