// SPDX-License-Identifier: MIT
// A slot of which all keys have gone, and which has not gone itself, for seconds: a free name in it
// is to be had at once, who waits is told within a second, and behind the move by a message again.
#pragma once

#include "simulation/scene/redis_shards.hpp"
#include "simulation/scene/trial.hpp"

#include <string>
#include <utility>

namespace simulation {

class RedisSlotOnItsWay final : public Trial {
 public:
  RedisSlotOnItsWay(Room& room, Judge& judge, std::string url, RedisShards& shards)
      : Trial(room, judge, std::move(url)), shards_(shards) {}
  void come() override;

 private:
  static constexpr auto lease = 20s;
  static constexpr const char* free_name = "on its way/0";
  static constexpr const char* held_name = "on its way/1";
  static constexpr Nanos on_the_way = 3s;
  /// Of a free name: two redirections, and what is sent whole there.
  static constexpr Nanos at_once = 300ms;
  /// There is no channel on the way: who waits asks each second.
  static constexpr Nanos without_a_word = 1'300ms;
  static constexpr Nanos by_a_message = 100ms;

  void move(const std::string& name, Nanos time);
  void ask();
  void hold();
  void wait();
  RedisShards& shards_;
  bool held_ = false;
  bool freed_ = false;
  Nanos freed_at_{0};
};

}  // namespace simulation
