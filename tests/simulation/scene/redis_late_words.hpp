// SPDX-License-Identifier: MIT
// What clients say late when all is well again. A renewal comes behind the release of its hold: the
// name is free (L1). A release is refused for a while, and its successor, who is told of that, asks
// for itself: it is granted by one answer (L6). A thread stands still while it sends, and then the
// connection is another one (S5). Who was robbed of its hold, and not told, hears it by its renewal
// (S1). And with Redisson's keys threads stop while they begin to listen or leave: in the end
// nobody listens who does not wait (L6).
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/judge.hpp"
#include "simulation/world/random.hpp"
#include "simulation/world/room.hpp"

#include <functional>
#include <string>

namespace mortise {
class Client;
}

namespace simulation {

class RedisLateWords {
 public:
  RedisLateWords(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                 Random random)
      : room_(room), judge_(judge), server_(server), url_(std::move(url)), random_(random) {}
  /// Runs the world until it is over. Everything must live as long as the world does.
  void come();

 private:
  void begin(const char* name, const std::function<void(Process&, mortise::Client&)>& life);
  void renew_late(Process& process, mortise::Client& client);
  void release_late(Process& process, mortise::Client& client);
  void send_late(Process& process, mortise::Client& client);
  void renew_what_was_taken(Process& process, mortise::Client& client);
  void listen(Process& process, mortise::Client& client);
  [[nodiscard]] Connection* connection_of(const Process& process, bool inbox) const;
  void run_until_gone();

  Room& room_;
  Judge& judge_;
  redis::RedisModel& server_;
  const std::string url_;
  Random random_;
  int here_ = 0;
  int listened_ = 0;
};

}  // namespace simulation
