// SPDX-License-Identifier: MIT
// Each server tells of a release whom it has heard of first, and no two of them the same one; and
// just that server's answer came too late for the round of the one that it tells. They hear it all
// the same (L2). Different ways to the servers bring it about where nothing is broken, but seldom
// for each server at once.
#pragma once

#include "simulation/scene/trial.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace simulation {

class RedlockTellers final : public Trial {
 public:
  RedlockTellers(Room& room, Judge& judge, std::string url, Nanos bound)
      : Trial(room, judge, std::move(url)),
        bound_(bound),
        servers_(room.network.hosts().size()),
        waiters_(servers_) {}
  void come() override;

 private:
  static constexpr auto lease = 6s;
  static constexpr const char* first_name = "tellers/0";
  static constexpr const char* second_name = "tellers/1";
  /// In which inboxes have come up.
  static constexpr Nanos to_come_up = 150ms;
  /// What comes at once has come by then.
  static constexpr Nanos a_while = 20ms;
  /// Before any of them asks again, a second after it asked first.
  static constexpr Nanos at_once = 150ms;

  struct Waiter {
    Process* process = nullptr;
    std::set<ConnectionId> asks_by{};  ///< its connections for commands
  };
  void hold();
  /// @param first the number of the server that hears of it before the others
  void wait(std::size_t first);
  /// What it asks comes to that server at once, and to the others in a while; that server's answer
  /// comes last.
  void lead(const Waiter& waiter, std::size_t first);

  const Nanos bound_;
  const std::size_t servers_;
  std::vector<Waiter> waiters_;
  bool held_ = false;
  std::size_t ready_ = 0;
  std::size_t ask_ = 0;
  Nanos freed_at_{0};
  bool taken_ = false;  ///< after that
};

}  // namespace simulation
