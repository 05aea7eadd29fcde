// SPDX-License-Identifier: MIT
// A request is on its way to a server, its connection breaks, and its slot goes to another server,
// to which its client has an older connection; there it is asked for anew, granted and released.
// The slot comes back, and then the request arrives: it changes nothing (S5).
#pragma once

#include "simulation/scene/redis_shards.hpp"
#include "simulation/scene/trial.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace simulation {

class RedisCopyElsewhere final : public Trial {
 public:
  RedisCopyElsewhere(Room& room, Judge& judge, std::string url, RedisShards& shards)
      : Trial(room, judge, std::move(url)), shards_(shards) {}
  void come() override;

 private:
  static constexpr auto lease = 20s;
  static constexpr const char* the_name = "copy elsewhere";
  /// As long as the trial may take: what stalls goes on when it is to.
  static constexpr Nanos on_its_way = 30s;
  static constexpr Nanos to_arrive = 20ms;
  /// In which whoever was sent elsewhere asks who has what, and what became of its request.
  static constexpr Nanos to_look = 1s;
  /// Of a free name, with connections that are to be made.
  static constexpr auto at_once = 1s;
  static constexpr RedisShards::Move quickly{
      .before_keys = 1ms, .between_keys = 1ms, .after_keys = 1ms, .before_told = 1ms};

  void ask(const Process& process);
  void take();
  static void take_and_leave(mortise::Client& client, const std::string& name);
  void move(std::size_t to);
  [[nodiscard]] Connection* connection_to(std::size_t server, const Process& process) const;
  RedisShards& shards_;
  bool arrived_ = false;
};

}  // namespace simulation
