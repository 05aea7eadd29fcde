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
  void ask(const Process& process);
  void take();
  void move(std::size_t to);
  [[nodiscard]] Connection* connection_to(std::size_t server, const Process& process) const;
  RedisShards& shards_;
  bool arrived_ = false;
};

}  // namespace simulation
