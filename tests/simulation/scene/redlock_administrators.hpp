// SPDX-License-Identifier: MIT
// Administrators who take a name of a quorum by force with the library's own call, from whoever
// owns it or from all who read, and a judge of what each of them leaves.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/judge.hpp"
#include "simulation/world/random.hpp"
#include "simulation/world/room.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation {

class RedlockAdministrators {
 public:
  explicit RedlockAdministrators(Room& room) : room_(room) {}
  void watch(redis::RedisModel& server) { servers_.push_back(&server); }

  /// One of them takes one of the names, as a rule one that several read; or waits for whoever is
  /// just getting one, and takes it before its client knows.
  /// @param until when the network is well again @return in words, for the trace
  std::string take(const std::string& url, std::size_t names, Nanos lease, Random& random,
                   Nanos until);
  /// That server has run a script, and its answer is on its way.
  void runs(redis::RedisModel& server, const redis::ScriptRun& run);
  /// Gets the findings.
  Judge* judge = nullptr;

 private:
  /// For the whole call, with all that is asked again.
  static constexpr std::chrono::seconds patience{2};
  /// Before it arrives: nothing is quicker than the network.
  static constexpr Nanos on_its_way{1'000};
  static constexpr double part_that_loses = 0.5;
  static constexpr double part_of_answers = 0.3;
  static constexpr double part_with_most_holders = 0.7;
  static constexpr double part_that_lurks = 0.3;
  /// A request for a vote has so many.
  static constexpr std::size_t fewest_arguments = 7;

  /// A hold is the vote of most servers for one step of an attempt.
  using Vote = std::pair<std::string, std::uint64_t>;
  using Holders = std::set<Vote>;
  struct Seen {
    std::set<std::uint64_t> numbers{};
    std::set<const redis::RedisModel*> ended{};
  };
  struct Call {
    std::size_t name = 0;
    Nanos lease{};
    double loses = 0;  // how often an answer is lost
    std::map<Vote, Seen> seen{};
    std::map<std::string, std::uint64_t> found{};  // by attempt: the last step that a server named
  };
  /// It waits until a client is getting a name.
  struct Lurker {
    std::string url;
    std::size_t names = 0;
    Nanos lease{};
    Nanos until{};
  };
  [[nodiscard]] Holders holders_of(std::size_t name) const;
  void take(const std::string& url, std::size_t name, Nanos lease);
  void lurk(const redis::ScriptRun& run);
  void ends(Call& call, redis::RedisModel& server, std::string_view attempt) const;
  void look_at_rest(std::size_t name, const Holders& held) const;

  Room& room_;
  Random luck_;
  std::vector<redis::RedisModel*> servers_;
  std::map<const Process*, Call> calls_;
  std::optional<Lurker> lurker_;
};

}  // namespace simulation
