// SPDX-License-Identifier: MIT
// A trial with one Redis server.
#pragma once

#include <mortise/client.hpp>

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/redis_key.hpp"
#include "simulation/scene/trial.hpp"
#include "simulation/world/random.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace simulation {

class RedisTrial : public Trial {
 public:
  /// The server has run a script.
  virtual void runs(const redis::ScriptRun& /*run*/) {}
  /// @return how much it has asked of the server without a client.
  [[nodiscard]] virtual std::uint64_t requests() const { return 0; }

 protected:
  RedisTrial(Room& room, Judge& judge, redis::RedisModel& server, std::string url, Random random)
      : Trial(room, judge, std::move(url)), server_(server), random_(random) {}
  /// Begins a process with a client.
  Process& begin_client(const char* name, std::function<void(Process&, mortise::Client&)> life);
  /// @return its connection for commands; null = it has none
  [[nodiscard]] Connection* commands_of(const Process& process) const;
  [[nodiscard]] Connection* inbox_of(const Process& process) const;
  [[nodiscard]] Host& host() const { return *room_.network.hosts().front(); }

  redis::RedisModel& server_;
  Random random_;

 private:
  [[nodiscard]] Connection* connection_of(const Process& process, bool listens) const;
};

}  // namespace simulation
