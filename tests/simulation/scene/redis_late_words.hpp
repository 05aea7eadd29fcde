// SPDX-License-Identifier: MIT
// What clients say late when all is well again. A renewal comes behind the release of its hold: the
// name is free (L1). A release is refused for a while, and its successor, who is told of that, asks
// for itself: it is granted by one answer (L6). A thread stands still while it sends, and then the
// connection is another one (S5). A client that was robbed of its hold, and not told, learns it
// from its renewal (S1). And with Redisson's keys threads stop while they begin to listen or leave:
// in the end nobody listens who does not wait (L6).
#pragma once

#include "simulation/scene/redis_trial.hpp"

namespace simulation {

class RedisLateWords final : public RedisTrial {
 public:
  RedisLateWords(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                 Random random)
      : RedisTrial(room, judge, server, std::move(url), random) {}
  void come() override;

 private:
  static constexpr auto lease = 3s;  // renewed after a third of it
  static constexpr const char* renewed = "late/renewal";
  static constexpr const char* released = "late/release";
  static constexpr const char* listened_to = "late/listener/";
  static constexpr int refusals = 3;
  static constexpr const char* sent = "late/sender";
  static constexpr const char* taken = "late/taken";
  static constexpr int names = 20;
  static constexpr int stops = 6;
  /// Places where a thread may stop, from its call to the last byte of its request.
  static constexpr std::uint64_t places = 24;
  /// Longer than it takes to make a connection anew.
  static constexpr Nanos stop = 25ms;
  static constexpr int listeners = 2;
  static constexpr const char* unserved = "a late client is not served";
  /// How late the copy of the renewal comes once its connection has broken, and when all that was
  /// said before has come.
  static constexpr Nanos late = 300ms;
  static constexpr Nanos to_arrive = 50ms;
  /// Who listens for nobody has stopped by then.
  static constexpr Nanos to_leave = 1s;

  void renew_late(Process& process, mortise::Client& client);
  void release_late(Process& process, mortise::Client& client);
  void send_late(Process& process, mortise::Client& client);
  void renew_what_was_taken(Process& process, mortise::Client& client);
  void listen(Process& process, mortise::Client& client);

  int listened_ = 0;
};

}  // namespace simulation
