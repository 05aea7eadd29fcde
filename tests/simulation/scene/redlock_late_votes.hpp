// SPDX-License-Identifier: MIT
// A connection breaks while a request for a vote is on its way. The hold that has the votes of the
// other servers is released by the next connection, and only then does the request arrive, before
// it is void. The vote that it brings is taken back soon after (S5, L1). That a request is
// overtaken like this, just before a release and by less than a second, hardly ever comes about by
// itself.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/trial.hpp"

#include <string>
#include <utility>

namespace simulation {

class RedlockLateVotes final : public Trial {
 public:
  /// @param first the first server
  RedlockLateVotes(Room& room, Judge& judge, std::string url, redis::RedisModel& first)
      : Trial(room, judge, std::move(url)), first_(first) {}
  void come() override;

 private:
  static constexpr auto lease = 9s;
  static constexpr const char* name = "late votes/0";
  static constexpr const char* key = "mortise:{late votes/0}";
  /// In which a few messages have come and gone, whatever the weather, and a connection is made.
  static constexpr Nanos to_arrive = 50ms;
  /// The request arrives behind the release, and is void after a second.
  static constexpr Nanos late_by = 400ms;
  /// Longer than until then, and far shorter than the lease.
  static constexpr Nanos soon = 2500ms;

  void hold(Process& process);

  redis::RedisModel& first_;
};

}  // namespace simulation
