// SPDX-License-Identifier: MIT
// Who asks for which name, and since when nobody else has had anything to do with it: whoever
// tries then, and does not wait, must not be told that it is held.
#pragma once

#include "simulation/world/room.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace simulation {

class Calls {
 public:
  /// @param doubt for how long a call may leave something behind that went wrong
  Calls(World& world, Nanos doubt) : world_(world), doubt_(doubt) {}

  /// One call, from before it asks until it has given back all that it was granted.
  class Call {
   public:
    Call(Calls& calls, std::size_t name, const Process& process);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    /// It was told how it ended, and leaves the name alone after so long. Otherwise that is in
    /// doubt.
    void is_over(Nanos rest) noexcept { rest_ = rest; }
    /// @return whether nobody had the name, wanted it, or had left anything there, from before it
    /// asked until now
    [[nodiscard]] bool alone() const;

   private:
    Calls& calls_;
    const std::size_t name_;
    const Process& process_;
    const bool began_alone_;
    const std::uint64_t number_;
    Nanos rest_;
  };

  /// The calls of a process end: it was killed, and what it had ends by then.
  void died(const Process& process, Nanos gone_by);
  /// Somebody who is dead may have the name until then.
  void hears_the_dead(std::size_t name, Nanos gone_by);
  /// What calls so far have left in doubt is over by then.
  void over_by(Nanos time);

 private:
  struct Name {
    std::vector<const Process*> callers;
    Nanos clear_from{0};
    std::uint64_t begun = 0;  ///< calls so far
  };
  World& world_;
  const Nanos doubt_;
  std::map<std::size_t, Name> names_;
};

}  // namespace simulation
