// SPDX-License-Identifier: MIT
// A request to run a key is executed, and its client never learns of that run. The outcome that
// stood before it stands again (O1, O3).
// - The reply is lost, and the client cannot reach the server until the lease is over.
// - A copy arrives after its client has begun and concluded the run on another connection.
#pragma once

#include <mortise/once.hpp>

#include "simulation/scene/redis_trial.hpp"

#include <string>

namespace simulation {

class RedisUnknownRuns final : public RedisTrial {
 public:
  RedisUnknownRuns(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                   Random random)
      : RedisTrial(room, judge, server, std::move(url), random) {}
  void come() override;

 private:
  static constexpr auto lease = 2s;
  static constexpr auto patience = 1s;
  /// Longer than the lease, and than a caller waits.
  static constexpr Nanos outage = 8s;
  /// The time to connect again and undo the run.
  static constexpr Nanos to_undo_it = 3s;
  /// Longer than the trial: it ends each stall itself.
  static constexpr Nanos on_its_way = 30s;
  static constexpr Nanos to_arrive = 10ms;
  static constexpr Nanos a_look = 5ms;
  static constexpr int looks = 200;

  void begin_in_an_outage(Process& process, mortise::Client& client);
  void begin_by_a_copy(Process& process, mortise::Client& client);
  /// @return a key that has this outcome, and that each request runs again.
  mortise::Once concluded(mortise::Client& client, const char* key, const char* result);
  void expect(mortise::Client& client, const char* key, const char* result, const char* words);
};

}  // namespace simulation
