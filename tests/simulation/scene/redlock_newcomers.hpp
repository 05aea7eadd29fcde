// SPDX-License-Identifier: MIT
// A client that waits for the first time when all is well, and whose inboxes come up, or break and
// come back, just while it asks: it is told of the release as everybody else is (L2). Waiters have
// their inboxes since the storm, as a rule, so this hardly ever comes about by itself.
#pragma once

#include "simulation/scene/trial.hpp"
#include "simulation/world/random.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace simulation {

class RedlockNewcomers final : public Trial {
 public:
  RedlockNewcomers(Room& room, Judge& judge, std::string url, Nanos bound, Random random)
      : Trial(room, judge, std::move(url)), bound_(bound), random_(random) {}
  void come() override;

 private:
  static constexpr auto lease = 6s;
  static constexpr const char* first_name = "newcomer/0";
  static constexpr const char* second_name = "newcomer/1";
  /// In which a few messages have come and gone, whatever the weather.
  static constexpr Nanos to_arrive = 10ms;
  /// In which inboxes have come up, or back.
  static constexpr Nanos to_come_back = 150ms;

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
  void until_act(Act act) const;
  [[nodiscard]] std::set<ConnectionId> connections() const;
  /// @return those of its connections that were not there at first
  [[nodiscard]] std::vector<Connection*> inboxes() const;

  const Nanos bound_;
  Random random_;
  Act act_ = Act::begins;
  Process* newcomer_ = nullptr;
  std::set<ConnectionId> first_;  ///< the newcomer's connections for commands
  Nanos freed_at_{0};
};

}  // namespace simulation
