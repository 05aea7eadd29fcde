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
  static constexpr const char* name_of_old_word = "old-word";
  static constexpr const char* queue_of_old_word = "/locks/old-word";
  /// In which a server has carried out what it was asked for, however slow the others are.
  static constexpr Nanos to_be_answered = 80ms;
  /// A message and the next one.
  static constexpr Nanos gap = 4ms;
  /// A caller gives up well within that.
  static constexpr Nanos cut_off = 100ms;
  /// So long the waiter waits for that order of events.
  static constexpr Nanos to_meet = 30s;
  /// A client bears with a server that says nothing for a third of its session.
  static constexpr int parts_of_silence = 4;

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
