// SPDX-License-Identifier: MIT
// Two read, and the lease of one of them ends while it hears nothing: its renewal comes when it is
// over, and takes up nothing (S4). When the other one lets go, nobody reads any more: whoever waits
// to have the name alone has it at once (L2). In a storm hardly anybody reads for so long.
#pragma once

#include "simulation/scene/redis_trial.hpp"

#include <cstdint>

namespace simulation {

class RedisDeadReaders final : public RedisTrial {
 public:
  RedisDeadReaders(Room& room, Judge& judge, redis::RedisModel& server, std::string url,
                   Random random)
      : RedisTrial(room, judge, server, std::move(url), random) {}
  void come() override;
  void runs(const redis::ScriptRun& run) override;

 private:
  static constexpr auto lease = 3s;  // renewed after a third of it
  static constexpr auto other_lease =
      60s;  // not renewed meanwhile: a renewal would clear away the other one
  static constexpr const char* name = "dead/readers";
  /// In which a few messages have come and gone.
  static constexpr Nanos to_arrive = 50ms;

  void lapse(Process& process, mortise::Client& client);
  void read_on(mortise::Client& client);
  void write(mortise::Client& client);
  [[nodiscard]] bool stands() const;

  std::uint64_t number_ = 0;  // of the hold whose lease ends; 0 = there is none yet
  bool lapsed_ = false;
  bool read_ = false;     // by the other one
  bool goes_on_ = false;  // who hears nothing hears again
  Nanos let_go_at_ = never;
};

}  // namespace simulation
