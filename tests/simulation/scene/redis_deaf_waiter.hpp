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

#include <cstdint>
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
  static constexpr auto lease = 8s;
  static constexpr const char* name = "deaf/waiter";
  static constexpr int rounds = 3;
  /// In which a few messages have come and gone, and the queue has been joined.
  static constexpr Nanos to_arrive = 20ms;
  /// A waiter asks once a second.
  static constexpr Nanos until_it_asks = 1'500ms;
  /// Longer than the judge of that gives it.
  static constexpr Nanos until_it_finds_out = 8'500ms;
  /// How long what a waiter was told is kept for it, and a clock's drift; and until others have it.
  static constexpr Nanos provisional_lease = 2'010ms;
  static constexpr Nanos to_lapse = 1s;
  /// Places where a thread may stop, from the begin of a release to its last byte.
  static constexpr std::uint64_t places = 24;
  static constexpr Nanos stop = 5ms;

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
