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
