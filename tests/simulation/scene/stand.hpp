// SPDX-License-Identifier: MIT
// A kind of store in a run: its servers, how clients reach them, and what can befall only them.
#pragma once

#include <mortise/backend.hpp>

#include "simulation/scene/plan.hpp"
#include "simulation/world/room.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace simulation {

class Stand {
 public:
  virtual ~Stand() = default;
  /// @return a new client's backend. Called on a thread of the client's process.
  [[nodiscard]] virtual std::unique_ptr<mortise::Backend> backend(std::size_t client) = 0;
  /// Something that only this kind of store knows.
  /// @return in words, for the trace
  virtual std::string special(std::uint64_t which, Random& random, Nanos length) = 0;
  /// The storm is over: whatever a special left behind ends.
  virtual void calm() {}
  /// @return how long a hold of a client that died may keep a name.
  [[nodiscard]] virtual Nanos longest_hold_of_the_dead(const Plan& plan) const {
    return plan.lease;
  }
  /// @return what the servers have worked so far: requests, instructions, whatever is counted.
  [[nodiscard]] virtual std::uint64_t work() const = 0;
  [[nodiscard]] virtual std::uint64_t requests() const = 0;
  /// @return how many processes with Redisson's locks are there as well.
  [[nodiscard]] virtual std::size_t strangers() const { return 0; }
  /// @return how long a name that is wanted may lie free when all is well: with a push to the next
  /// one no longer than a few messages take.
  [[nodiscard]] virtual Nanos hand_over() const { return std::chrono::milliseconds(100); }
  /// Looked at every second. @return what must never be; empty = all is well
  [[nodiscard]] virtual std::string complaint(std::size_t /*clients*/) { return {}; }
  /// @param names that were used, and are free by now
  /// @return what was left behind although the storm is long over; empty = nothing
  [[nodiscard]] virtual std::string leftovers(const std::vector<std::string>& /*names*/) {
    return {};
  }
};

/// @return how many specials a kind of store has.
[[nodiscard]] std::size_t specials_of(Kind kind);
[[nodiscard]] std::unique_ptr<Stand> make_stand(const Plan& plan, Room& room);

}  // namespace simulation
