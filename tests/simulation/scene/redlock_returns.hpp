// SPDX-License-Identifier: MIT
// What a lost round has taken is taken back at once (L1): also where the server refuses that for a
// moment, or has forgotten its scripts since it voted. A server that does so just between a vote
// and its undo hardly ever comes about by itself.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/trial.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace simulation {

class RedlockReturns final : public Trial {
 public:
  /// @param servers the first of those of the room
  RedlockReturns(Room& room, Judge& judge, std::string url, std::vector<redis::RedisModel*> servers)
      : Trial(room, judge, std::move(url)), servers_(std::move(servers)) {}
  void come() override;

 private:
  void hold();
  void rival();
  /// Has the holder's servers answer the rival only after a while, and this befall the others in
  /// between.
  void meanwhile(const std::function<void(redis::RedisModel&)>& what);
  /// @return whether a vote of the rival's stands, who holds nothing.
  [[nodiscard]] bool stands() const;

  const std::vector<redis::RedisModel*> servers_;  ///< those that the holder leaves to others
  Process* holder_ = nullptr;
  Process* rival_ = nullptr;
  bool held_ = false;
  bool tried_ = false;
};

}  // namespace simulation
