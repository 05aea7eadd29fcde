// SPDX-License-Identifier: MIT
// A waiter is granted the lock and robbed of it by force, and the next one has it, before it hears
// of any of that. The message of the theft is lost with its inbox, and nothing that it sends
// arrives any more. What does come is the message of its grant, and the answer to what it has asked
// meanwhile, which says that it waits: in whichever order it hears the two, it must not believe
// behind them that it holds (S1, S8).
#pragma once

#include "simulation/scene/redis_trial.hpp"

namespace simulation {

class RedisRobbedWaiter final : public RedisTrial {
 public:
  RedisRobbedWaiter(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                    Random random)
      : RedisTrial(room, judge, server, std::move(url), random) {}
  void come() override;

 private:
  /// Of a command a client expects the answer for a sixth of it, and then it connects anew: not
  /// before the waiter's question.
  static constexpr auto lease = 8s;
  static constexpr const char* name = "robbed/waiter";
  /// In which a few messages have come and gone.
  static constexpr Nanos to_arrive = 20ms;
  /// A provisional lease is over by then.
  static constexpr Nanos silence = 3s;

  enum class Order { grant_first, answer_first, none };
  void hold(mortise::Client& client);
  void rob(mortise::Lock& lock);
  void wait(mortise::Client& client);
  [[nodiscard]] std::uint64_t waiting() const;

  const Process* waiter_ = nullptr;
  Order order_ = Order::none;
  bool holds_ = false;     ///< the one who robs, what it has robbed
  bool answered_ = false;  ///< the waiter has heard both
  int served_ = 0;         ///< how often the waiter was, in the end
};

}  // namespace simulation
