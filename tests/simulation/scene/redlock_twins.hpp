// SPDX-License-Identifier: MIT
// Two addresses of one client lead to one server for a while, then to their own again; and what the
// client may say of that, and until when.
#pragma once

#include <mortise/error.hpp>

#include "simulation/scene/judge.hpp"
#include "simulation/scene/plan.hpp"
#include "simulation/world/room.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <system_error>

namespace simulation {

class RedlockTwins {
 public:
  RedlockTwins(Room& room, const Plan& plan)
      : room_(room), seed_(plan.seed), aims_(plan.astray), storm_(plan.storm) {}

  /// One server has two votes from now on, if the client does not notice. @return in words
  std::string mislead(const Process& client, Random& random, Nanos length);
  /// A client is about to begin: perhaps it knows nothing but addresses that lead astray.
  void born(const Process& client);
  /// A call of its is over. @return a promise that was broken by what it was told
  std::optional<Verdict> ended(const Process& client, Nanos asked, const std::error_code& error);
  /// @return whether any client was misled so far.
  [[nodiscard]] bool any() const noexcept { return !misled_.empty(); }

 private:
  struct Misled {
    Nanos until{};
    bool clear = false;        ///< nothing of it is left: its connections ended with it
    Nanos told_since = never;  ///< that two are one, at each call
  };
  void cut_all(const Process& client, const Host& host);

  Room& room_;
  const std::uint64_t seed_;
  const bool aims_;
  const Nanos storm_;
  std::uint64_t births_ = 0;
  std::map<const Process*, Misled> misled_;
};

}  // namespace simulation
