// SPDX-License-Identifier: MIT
// An owner believes in a hold for no longer than most servers keep its votes (S1): even if their
// answers took long, or if only a few of them have renewed it. The judge of owners sees the
// opposite only if another client takes the name just then.
#pragma once

#include "simulation/scene/trial.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace simulation {

class RedlockDeadlines final : public Trial {
 public:
  /// @param most servers from the first on, of those of the room
  RedlockDeadlines(Room& room, Judge& judge, std::string url, std::size_t most)
      : Trial(room, judge, std::move(url)), most_(most) {}
  void come() override;

 private:
  static constexpr auto lease = 3s;
  static constexpr const char* name = "deadlines/0";
  /// Longer than the margin of the lease, and shorter than an answer may take.
  static constexpr Nanos late_by = 400ms;

  void hold(Process& process);

  const std::size_t most_;
};

}  // namespace simulation
