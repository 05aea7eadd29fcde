// SPDX-License-Identifier: MIT
// A waiter that hears nothing. First its inbox is forgotten by what is between, which it is to find
// out (L2). Then it learns by asking that it has the lock, and the push of that grant comes just
// while it releases it: nothing of that hold is to be given back by whoever reads the push, and its
// release is told as one (S3). At last it hears nothing at all for longer than a claim stands: that
// lapses in time (L1), and when the pushes of two grants come, the hold that it has by then stays
// (S1). A storm is hardly ever long enough for the first, and hardly ever holds up a push until the
// others.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/judge.hpp"
#include "simulation/world/random.hpp"
#include "simulation/world/room.hpp"

#include <functional>
#include <string>

namespace mortise {
class Lock;
}

namespace simulation {

class RedisDeafWaiter {
 public:
  RedisDeafWaiter(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                  Random random)
      : room_(room), judge_(judge), server_(server), url_(std::move(url)), random_(random) {}
  /// Has the way to an inbox forgotten, and whoever judges that told.
  std::function<void(Connection&)> forget;
  /// Runs the world until it is over. Everything must live as long as the world does.
  void come();

 private:
  void begin(const char* name, Process*& process, void (RedisDeafWaiter::*life)());
  void hold();
  [[nodiscard]] bool is_told() const;
  void free_for_the_deaf(mortise::Lock& lock);
  void wait();
  void until(int act) const;
  [[nodiscard]] Connection* inbox() const;

  Room& room_;
  Judge& judge_;
  redis::RedisModel& server_;
  const std::string url_;
  Random random_;
  int act_ =
      0;  ///< three of each round: it is held, it is waited for, it is released by the waiter
  Process* host_ = nullptr;
  Process* waiter_ = nullptr;
  int gone_ = 0;
};

}  // namespace simulation
