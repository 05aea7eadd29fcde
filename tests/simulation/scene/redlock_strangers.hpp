// SPDX-License-Identifier: MIT
// A vote is owed to a server that cannot be reached. Its address leads to another one meanwhile,
// which was started anew, has voted by itself, and says that it has freed what it had. That is not
// the same vote (L1). A server that is away just between its vote and the undo, and another that
// comes up in its place under a new name in between, hardly ever meet by themselves.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/trial.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace simulation {

class RedlockStrangers final : public Trial {
 public:
  /// @param first the first server, which the holder leaves to others. @param left how many it
  /// leaves
  RedlockStrangers(Room& room, Judge& judge, std::string url, redis::RedisModel& first,
                   std::size_t left)
      : Trial(room, judge, std::move(url)), first_(first), left_(left) {}
  void come() override;

 private:
  static constexpr auto lease = 12s;
  static constexpr const char* name = "strangers/0";
  static constexpr const char* key = "mortise:{strangers/0}";
  /// In which a few messages have come and gone, whatever the weather.
  static constexpr Nanos to_arrive = 10ms;
  /// For so long the servers that know better say nothing: the round goes on.
  static constexpr Nanos silence = 100ms;
  /// For so long the first server is away; the rival has given up by then.
  static constexpr Nanos away = 1s;
  static constexpr auto tries_for = 700ms;
  /// In which it is connected anew, and told.
  static constexpr Nanos soon = 3s;

  void hold();
  void rival();
  /// The first server is out of the rival's reach, and one of the holder's starts anew, empty, at
  /// the address of the first one; which has that one's.
  void confuse();

  redis::RedisModel& first_;
  const std::size_t left_;
  Process* holder_ = nullptr;
  Process* rival_ = nullptr;
  bool held_ = false;
  bool tried_ = false;
};

}  // namespace simulation
