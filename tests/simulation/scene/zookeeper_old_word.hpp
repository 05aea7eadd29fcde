// SPDX-License-Identifier: MIT
// A stranger deletes a waiter's node while a pulse is under way. The waiter's list tells first, and
// its next node is asked for; then the pulse's write is answered, that there is no such node; and
// the answer about the next node is lost. The waiter gives up before it is there again. What it has
// asked for is to go all the same, although its session lives on (L2).
#pragma once

#include "simulation/scene/zookeeper_trial.hpp"

#include <cstdint>

namespace simulation {

class ZooKeeperOldWord final : public ZooKeeperTrial {
 public:
  using ZooKeeperTrial::ZooKeeperTrial;
  void come() override;

 private:
  enum class Act {
    begins,
    waits,      ///< behind the holder
    pulses,     ///< its sync has arrived, the node goes, and nothing more is answered
    looks,      ///< its list has come behind that, and both are answered at once
    is_cut_off  ///< it was told that the old node is no more, and not that there is a new one
  };
  void hold(Process& process);
  void wait(Process& process);
  void asked(Connection& from, std::int32_t type);
  /// The pulse's sync and the list come close to each other now and then only.
  void begin_anew_unless(Act act, Nanos after);
  /// The answer to the pulse's write arrives, and nothing behind it.
  void answer_once(Connection& from);

  Act act_ = Act::begins;
  int turn_ = 0;
  Process* waiter_ = nullptr;
  bool given_up_ = false;
  bool over_ = false;
};

}  // namespace simulation
