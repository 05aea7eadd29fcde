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
  static constexpr auto lease = 8s;
  static constexpr const char* name = "returns/0";
  static constexpr const char* key = "mortise:{returns/0}";
  /// In which a few messages have come and gone, whatever the weather.
  static constexpr Nanos to_arrive = 10ms;
  /// For so long the servers that know better say nothing: the round goes on.
  static constexpr Nanos silence = 100ms;
  /// What was refused is tried again half a second later; who does not wait reads that within a
  /// second.
  static constexpr Nanos soon = 3s;
  /// Before the waiter asks again, a second after it asked first.
  static constexpr Nanos at_once = 300ms;

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
