// SPDX-License-Identifier: MIT
// A waiter behind a crowd, all of whom have left but for one: that one is dead, and its place is at
// the head of the queue for now. Whoever frees the lock finds the waiter nevertheless (L2).
#pragma once

#include "simulation/scene/redis_crowd.hpp"
#include "simulation/scene/redis_trial.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace simulation {

class RedisQueueBehind final : public RedisTrial {
 public:
  /// @param bound in which whoever is told of a release has the lock
  RedisQueueBehind(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                   Random random, Nanos bound)
      : RedisTrial(room, judge, server, std::move(url), random),
        crowd_(server, connection_of_the_crowd),
        bound_(bound) {}
  void come() override;
  [[nodiscard]] std::uint64_t requests() const override { return crowd_.requests(); }

 private:
  static constexpr auto lease = 6s;
  static constexpr const char* name = "behind/waiter";
  /// In which a few messages have come and gone.
  static constexpr Nanos to_arrive = 20ms;
  /// More than one script looks at, and now and then more than one look reads. That takes its time.
  static constexpr std::uint64_t few = 70;
  static constexpr std::uint64_t many = 1'100;
  static constexpr double often_many = 0.15;

  void hold(mortise::Client& client);
  void wait(mortise::Client& client);
  void gather();
  void leave();

  static constexpr ConnectionId connection_of_the_crowd = ConnectionId{1} << 42U;
  RedisCrowd crowd_;
  const Nanos bound_;
  std::vector<std::string> people_;  ///< of the crowd, once they stand there
  bool left_ = false;
  Nanos freed_at_{0};
};

}  // namespace simulation
