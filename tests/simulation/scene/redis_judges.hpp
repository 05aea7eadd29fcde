// SPDX-License-Identifier: MIT
// What a Redis server shows of promises that were broken, whether or not anybody has suffered yet.
#pragma once

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/ambush.hpp"
#include "simulation/scene/judge.hpp"
#include "simulation/scene/plan.hpp"
#include "simulation/scene/redis_copies.hpp"
#include "simulation/scene/redis_traps.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation {

class RedisJudges {
 public:
  RedisJudges(Room& room, redis::RedisModel& server, const Plan& plan);
  /// All its clients are fair ones.
  void all_are_fair() noexcept { fair_ = true; }
  /// The server has run a script.
  void runs(const redis::ScriptRun& run);
  /// The server sends a message, in the middle of a script.
  void told(std::string_view message);
  /// What is between a client and its inbox has forgotten that.
  void forgotten(Connection& inbox);
  /// The storm is over: that is found out at once.
  void calm();
  /// It is about to be killed, or its client to be closed.
  void dies(const Process& process, const Ambush& ambush);
  /// Its client was closed. Until then it could send, and confirm a lock that it was handed.
  void closed(const Process& process, const Ambush& ambush);
  /// @param quiet for how long nothing has befallen anybody
  [[nodiscard]] std::optional<Verdict> look(Judge& judge, Nanos quiet);

 private:
  struct Name {
    std::string key;
    std::map<std::uint64_t, Nanos> since{};  // when each hold was first seen, or known to somebody
    int crowds = 0;                          // looks in a row at which too many listened
  };
  /// A client that was killed or closed, by the first half of its attempts' ids.
  struct Dead {
    const Process* process = nullptr;
    bool is_closed = false;
    std::int64_t at = 0;                   // us, of the server's clock
    bool has_sent = false;                 // something that the server has yet to read
    std::vector<std::uint64_t> numbers{};  // of its holds
  };
  [[nodiscard]] std::int64_t server_time() const;
  [[nodiscard]] bool listens(const std::string& client) const;
  [[nodiscard]] bool has_sent(const Process& process, const Ambush& ambush) const;
  [[nodiscard]] std::optional<Verdict> look_at(Name& name, std::size_t index, Judge& judge,
                                               Nanos quiet);
  [[nodiscard]] std::optional<Verdict> look_at_the_dead(const Name& name,
                                                        const redis::HoldSeen& hold) const;
  [[nodiscard]] std::optional<Verdict> look_at_listeners(Name& name, std::size_t index,
                                                         Nanos quiet);
  void look_at_pushes(const redis::ScriptRun& run);
  void look_at_free(const redis::ScriptRun& run);
  void look_at_places(const redis::ScriptRun& run);
  void look_at_kept(const redis::ScriptRun& run);
  using Attempts = std::set<std::string, std::less<>>;
  void look_at_turns(const redis::ScriptRun& run, const Attempts& pushed);
  [[nodiscard]] std::optional<redis::WaiterSeen> first_who_waits(const std::string& key,
                                                                 bool deaf) const;
  void note_question(const redis::ScriptRun& run);
  [[nodiscard]] std::optional<Verdict> look_at_forgotten();

  Room& room_;
  redis::RedisModel& server_;
  const bool steps_;
  std::vector<Name> names_;
  std::map<std::string, Dead> dead_;
  struct Forgotten {
    ConnectionId inbox{};
    const Process* process = nullptr;
    // Its client waits, and is told so again and again on this connection, and nothing stops it.
    ConnectionId by{};
    Nanos since{};
    Nanos last{};
    Nanos stolen{};
  };
  std::vector<Forgotten> forgotten_;
  RedisCopies copies_;
  struct Kept {
    const Process* process = nullptr;
    Nanos stolen{0};
    int times = 0;
  };
  std::map<std::string, Kept> kept_for_nobody_;  // releases in a row after which a lock was
  Attempts pushed_;                              // grants of the script that runs
  bool fair_ = false;
  std::map<std::string, std::uint64_t> free_with_;  // names that a look has left free, and how many
                                                    // waited
  struct Place {
    std::int64_t came = 0;    // by the server's clock
    std::uint64_t order = 0;  // grows with each arrival; 0 = not in the queue
  };
  std::map<std::string, Place> places_;  // of attempts, in the queue
  std::uint64_t arrivals_ = 0;
  std::optional<Verdict> verdict_;
};

}  // namespace simulation
