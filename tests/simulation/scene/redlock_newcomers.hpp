// SPDX-License-Identifier: MIT
// A client that waits for the first time when all is well, and whose inboxes come up, or break and
// come back, just while it asks: it is told of the release as everybody else is (L2). Waiters have
// their inboxes since the storm, as a rule, so this hardly ever comes about by itself.
#pragma once

#include "simulation/scene/judge.hpp"
#include "simulation/world/random.hpp"
#include "simulation/world/room.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace simulation {

class RedlockNewcomers {
 public:
  RedlockNewcomers(Room& room, Judge& judge, std::string url, Nanos bound, Random random)
      : room_(room), judge_(judge), url_(std::move(url)), bound_(bound), random_(random) {}
  /// Runs the world until it is over. Everything must live as long as the world does.
  void come();

 private:
  enum class Act {
    begins,
    is_held,        ///< the host has both names
    asks,           ///< the newcomer asks for the second one, and has no inbox yet
    is_told,        ///< it was given it
    is_held_again,  ///< by the host
    asks_again,     ///< while its inboxes break
    is_told_again,
  };
  void hold();
  void wait();
  /// Asks for the second name while no answer arrives before then, and says that it does.
  void ask(mortise::Client& client, Act act, Nanos silence);
  void until(Act act) const;
  [[nodiscard]] std::set<ConnectionId> connections() const;
  /// @return those of its connections that were not there at first
  [[nodiscard]] std::vector<Connection*> inboxes() const;
  void begin(const char* name, Process*& process, void (RedlockNewcomers::*life)());

  Room& room_;
  Judge& judge_;
  const std::string url_;
  const Nanos bound_;
  Random random_;
  Act act_ = Act::begins;
  Process* host_ = nullptr;
  Process* newcomer_ = nullptr;
  std::set<ConnectionId> first_;  ///< the newcomer's connections for commands
  Nanos freed_at_{0};
  int gone_ = 0;
};

}  // namespace simulation
