// SPDX-License-Identifier: MIT
// Administrators who take locks by force with the library's own call, whose answers are lost at the
// moment that counts, and a judge of what each of them has ended.
#pragma once

#include "simulation/redis/server_state.hpp"
#include "simulation/scene/judge.hpp"
#include "simulation/world/room.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace simulation {

class RedisAdministrators {
 public:
  explicit RedisAdministrators(Room& room) : room_(room) {}

  /// One of them takes the name; or two at once. @return in words, for the trace
  std::string take(const std::string& url, const std::string& name, Random& random);
  /// The server answers.
  void runs(const redis::ScriptRun& run);
  /// Whom it tells.
  Judge* judge = nullptr;

 private:
  /// For the whole call, with all that is asked again.
  static constexpr std::chrono::seconds patience{2};
  /// Before it arrives: nothing is quicker than the network.
  static constexpr Nanos on_its_way{1'000};

  /// One call.
  struct OneShot {
    double loses = 0;               // how often an answer is lost
    std::set<std::string> ended{};  // numbers of holds
  };
  void begin(const std::string& url, const std::string& name, double loses);
  void look_at_end(OneShot& one_shot, const redis::ScriptRun& run) const;

  Room& room_;
  Random luck_;
  std::map<const Process*, OneShot> one_shots_;
};

}  // namespace simulation
