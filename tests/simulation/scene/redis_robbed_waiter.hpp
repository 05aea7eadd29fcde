// SPDX-License-Identifier: MIT
// A waiter is granted the lock and robbed of it by force, and the next one has it, before it hears
// of any of that. Then the message of its grant comes, the one of the theft is lost with the inbox,
// and nothing that it sends arrives any more; but the answer to what it has asked meanwhile does,
// and says that it waits. From then on it must not believe that it holds (S1): the next one does.
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
  void hold(mortise::Client& client);
  void wait(mortise::Client& client);
  [[nodiscard]] std::uint64_t waiting() const;

  const Process* waiter_ = nullptr;
  bool held_ = false;     ///< by the one who robs
  bool granted_ = false;  ///< as the waiter believes
  bool answered_ = false;
};

}  // namespace simulation
