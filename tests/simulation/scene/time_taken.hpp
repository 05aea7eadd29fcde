// SPDX-License-Identifier: MIT
// How long a call took, by the clock of its process, without the time in which that could not run.
#pragma once

#include "simulation/world/world.hpp"

#include <algorithm>

namespace simulation {

class TimeTaken {
 public:
  TimeTaken(const World& world, const Process& process) noexcept
      : world_(world), process_(process) {}
  /// @return how long it has gone on after `limit`; negative: its time is not over. Whoever comes
  /// back from a suspend with its time over returns at once: the suspend itself does not make up
  /// for a sleep that goes on afterwards.
  [[nodiscard]] Nanos beyond(Nanos limit) const noexcept {
    if (limit == never) return -never;
    const Nanos took = process_.boot_time() - began_ - (stolen() - stolen_);
    return took - std::max(limit, process_.resumed_at() - asked_);
  }
  /// @return how long it has gone on after a moment of the world
  [[nodiscard]] Nanos since(Nanos moment) const noexcept {
    return world_.now() - std::max({moment, asked_, process_.resumed_at()}) - (stolen() - stolen_);
  }

 private:
  /// A suspend is counted apart.
  [[nodiscard]] Nanos stolen() const noexcept {
    return world_.stolen(process_) - process_.asleep();
  }

  const World& world_;
  const Process& process_;
  const Nanos asked_ = world_.now();
  const Nanos began_ = process_.boot_time();
  const Nanos stolen_ = stolen();
};

}  // namespace simulation
