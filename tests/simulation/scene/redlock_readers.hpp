// SPDX-License-Identifier: MIT
// Readers and writers of several clients when all is well: a writer is not kept waiting by readers
// who come for ever, nor a reader by writers (L5); when a writer lets go, all who wait to read are
// told, and read together (L6). Storms say nothing of who comes before whom.
#pragma once

#include <mortise/client.hpp>

#include "simulation/scene/trial.hpp"
#include "simulation/world/random.hpp"

#include <cstddef>
#include <string>

namespace simulation {

class RedlockReaders final : public Trial {
 public:
  RedlockReaders(Room& room, Judge& judge, std::string url, Random random)
      : Trial(room, judge, std::move(url)), random_(random) {}
  void come() override;

 private:
  static inline const mortise::LockOptions writing{.lease = 6s};
  static inline const mortise::LockOptions reading{.lease = 6s, .mode = mortise::Mode::shared};
  static constexpr std::size_t clients = 3;  // that read, with two threads each, or write
  static constexpr const char* crowded = "readers/0";
  static constexpr const char* quiet = "readers/1";
  static constexpr std::size_t crowded_name = 2'000;  // to the judge
  static constexpr std::size_t quiet_name = 2'001;
  /// In which whoever begins to wait is known at the servers, with an inbox at each.
  static constexpr Nanos to_settle_down = 200ms;
  /// Somebody holds the name for so long each time.
  static constexpr Nanos a_look = 4ms;
  /// Less than the second after which whoever waits looks by itself.
  static constexpr Nanos bound = 700ms;
  /// Whoever has lost to others is in the middle of a turn of theirs.
  static constexpr Nanos bound_of_a_reader = 2s;

  enum class Act {
    begins,
    is_read,       ///< by readers who come for ever
    is_written,    ///< by writers who do
    is_held,       ///< by one writer, behind whom readers wait
    is_let_go_of,  ///< by that one
    ends,
  };
  struct Mine {
    Process& process;
    mortise::Lock lock;
    bool reads = false;
  };
  /// Takes the name, which the judge sees. @param use what is done with it
  template <class Use>
  void hold(Mine& mine, std::size_t name, Use use);
  /// The same again and again, for a few milliseconds each time.
  void come_for_ever(Mine mine, Act as_long_as);
  void read(Process& process);
  void write(Process& process);
  /// Is the last to come, each time.
  void wait(Process& process);
  /// Takes a name within the time, or somebody is blamed.
  void take(Mine& mine, Nanos bound, const char* words);
  void go_on(Act act) { act_ = act; }

  Random random_;
  Act act_ = Act::begins;
  std::size_t waiting_ = 0;
  std::size_t reading_ = 0;  // together, behind the writer
};

}  // namespace simulation
