// SPDX-License-Identifier: MIT
// The outbox: calls that wait for a connection. And what every backend has to judge of them:
// whether a failure is the last word, and whether anybody still waits for the answer.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/error.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <list>
#include <string_view>
#include <utility>

namespace mortise::remote {

/// @return whether asking again cannot help, whatever the caller's time.
[[nodiscard]] inline bool is_final(const Failure& why) noexcept {
  return why.code == Errc::denied || why.code == Errc::misconfigured ||
         why.code == Errc::unsupported || why.code == Errc::protocol;
}

/// What nobody waits for any more (an orphaned grant that has to be released, say) is tried for as
/// long as it would keep others out, and at least for this time.
inline constexpr std::chrono::minutes longest_unattended{1};

/// @param since when it was asked for first
/// @param lease how long what it frees would keep others out
/// @return whether it was tried for so long.
[[nodiscard]] inline bool was_tried_enough(Instant since, std::chrono::nanoseconds lease,
                                           Instant now) noexcept {
  return now - since > std::max<std::chrono::nanoseconds>(longest_unattended, lease);
}

/// The name that is looked at to see whether locks can be taken at all. Nobody locks it.
inline constexpr std::string_view probed_name = "mortise.check";

/// Does that with each call, whatever became of those before it.
/// @param work with one call, alone; may throw, and may put the call elsewhere
/// @param keep is given what it has thrown at, and not put elsewhere
/// @return whether it has thrown
template <class Calls, class Work, class Keep>
bool each_or_keep(Calls calls, Work work, Keep keep) noexcept {
  bool failed = false;
  while (!calls.empty()) {
    Calls alone;
    alone.splice(alone.begin(), calls, calls.begin());
    try {
      work(alone);
    } catch (const std::exception&) {
      failed = true;
      if (!alone.empty()) keep(std::move(alone));
    }
  }
  return failed;
}

/// @tparam Call has an `operation` and a `kind`
/// @thread_safety for one thread at a time
template <class Call>
class Outbox {
 public:
  /// They go from hand to hand without memory: see UnderWay.
  using Calls = std::list<Call>;

  /// Of one operation a call of each kind waits once: what is there already stays as it is.
  /// @param alone one call
  void add(Calls alone) noexcept {
    const Call& call = alone.front();
    const bool there = std::any_of(calls_.begin(), calls_.end(), [&](const Call& other) {
      return other.operation == call.operation && other.kind == call.kind;
    });
    if (!there) calls_.splice(calls_.end(), alone);
  }
  /// @return all of them, in the order in which they came.
  [[nodiscard]] Calls take() noexcept { return std::exchange(calls_, {}); }

 private:
  Calls calls_;
};

}  // namespace mortise::remote
