// SPDX-License-Identifier: MIT
// An administrator ends the votes of a round whose client does not know that it was won. The last
// server gets the release only after that client holds the lock by its next round, and leaves that
// vote (S3). It hardly ever comes about by itself that a release is this late.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/trial.hpp"

#include <string>
#include <utility>
#include <vector>

namespace simulation {

class RedlockLateForce final : public Trial {
 public:
  /// @param servers all of the room's
  RedlockLateForce(Room& room, Judge& judge, std::string url,
                   std::vector<redis::RedisModel*> servers)
      : Trial(room, judge, std::move(url)), servers_(std::move(servers)) {}
  void come() override;

 private:
  static constexpr auto lease = 9s;
  static constexpr const char* name = "late force/0";
  static constexpr const char* key = "mortise:{late force/0}";
  /// Longer than a server may take for its answer: the first round is lost, and the next is won.
  static constexpr Nanos silence = 1'500ms;
  /// By then the administrator is connected to the last server again.
  static constexpr Nanos to_return = 3s;

  void hold(Process& process);
  void force(Process& process);
  [[nodiscard]] bool stands_everywhere() const;

  const std::vector<redis::RedisModel*> servers_;
  bool held_ = false;
  bool over_ = false;
};

}  // namespace simulation
