// SPDX-License-Identifier: MIT
// A connection breaks while a request is on its way, and the client repeats the request on the next
// connection.
// - The copy of a request for a lock arrives when the client has had the lock and released it. The
//   client gives back what the copy has taken, even though it has an answer from before (S5).
// - A conclusion was executed, and its reply is lost. The repeated one finds the outcome (O3).
#pragma once

#include "simulation/scene/redis_trial.hpp"

namespace simulation {

class RedisLostReplies final : public RedisTrial {
 public:
  RedisLostReplies(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                   Random random)
      : RedisTrial(room, judge, server, std::move(url), random) {}
  void come() override;

 private:
  static constexpr auto lease = 20s;
  static constexpr const char* the_name = "late copy";
  static constexpr const char* the_key = "lost/conclusion";
  /// Longer than the trial takes: what stalls goes on when the trial says so.
  static constexpr Nanos on_its_way = 30s;
  /// Every second copy is lost with its connection.
  static constexpr int times = 4;
  static constexpr Nanos to_arrive = 10ms;
  /// In which the client looks at what the copy has taken, with a connection that it may have to
  /// make.
  static constexpr auto to_give_back = 2s;

  void lose_a_request(Process& process, mortise::Client& client);
  void lose_a_conclusion(Process& process, mortise::Client& client);
};

}  // namespace simulation
