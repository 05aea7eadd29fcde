// SPDX-License-Identifier: MIT
// Grants and renewals of a server, until its replicas have them as well. It sends nothing and reads
// no clock.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/error.hpp>

#include "remote/timer.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <utility>

namespace mortise::redis {

/// One WAIT is under way at a time. It is about all grants that were seen before it began. The next
/// WAIT is about all grants that were seen in the meantime.
/// @thread_safety one thread at a time, except for `due()`
class Unconfirmed {
 public:
  /// Called once, with the reason why replicas do not have the grant; clear = they have it. Called
  /// again if it throws.
  using Verdict = std::function<void(const Failure& why)>;
  struct Grant {
    std::uint64_t clock = 0;  ///< of the server that has granted it
    Instant until{};          ///< it is of no use afterwards
    Verdict verdict{};
  };
  /// Grants go from list to list without memory.
  using Grants = std::list<Grant>;

  /// @return when `take_late()` has one. @thread_safety any thread
  [[nodiscard]] Instant due() const noexcept { return due_.get(); }
  /// @return true if that is earlier than before.
  bool note_due() noexcept { return due_.set(asks_ ? never : first_until()); }

  /// They wait for the next WAIT.
  void add(Grants& grants) noexcept { seen_.splice(seen_.end(), grants); }
  /// @return true if a WAIT has to begin.
  [[nodiscard]] bool wants_wait() const noexcept { return !asks_ && !seen_.empty(); }
  /// @return the grants that wait, and were made by another clock.
  [[nodiscard]] Grants take_others(std::uint64_t clock) noexcept {
    return take(seen_, [clock](const Grant& each) { return each.clock != clock; });
  }
  /// A WAIT begins. @return how long the server may wait
  [[nodiscard]] std::chrono::milliseconds begin(Instant now) noexcept {
    using std::chrono::milliseconds;
    const auto left = std::chrono::duration_cast<milliseconds>(first_until() - now);
    asks_ = true;
    under_way_.splice(under_way_.end(), seen_);
    return std::max(shortest_wait, left);
  }
  /// It was answered. @param all no later answer will be different, or enough replicas have them
  /// @return the grants on which there is a verdict; the next WAIT is about the others
  [[nodiscard]] Grants end(bool all, Instant now) noexcept {
    Grants over = take(under_way_, [&](const Grant& each) { return all || each.until <= now; });
    give_up();
    return over;
  }
  /// Its connection broke: the next WAIT is about the same grants.
  void give_up() noexcept {
    asks_ = false;
    seen_.splice(seen_.begin(), under_way_);
  }
  /// @return the grants that have waited too long for a WAIT.
  [[nodiscard]] Grants take_late(Instant now) noexcept {
    if (asks_) return {};
    return take(seen_, [now](const Grant& each) { return each.until <= now; });
  }
  [[nodiscard]] Grants take_all() noexcept {
    Grants all = std::exchange(under_way_, {});
    all.splice(all.end(), seen_);
    return all;
  }
  [[nodiscard]] Grants take_seen() noexcept { return std::exchange(seen_, {}); }

  /// A WAIT takes that long at least, even if a grant is of no use any more before it ends.
  static constexpr std::chrono::milliseconds shortest_wait{5};

 private:
  template <class Which>
  [[nodiscard]] static Grants take(Grants& from, Which which) noexcept {
    Grants taken;
    for (auto each = from.begin(); each != from.end();) {
      const auto next = std::next(each);
      if (which(*each)) taken.splice(taken.end(), from, each);
      each = next;
    }
    return taken;
  }
  [[nodiscard]] Instant first_until() const noexcept {
    Instant first = never;
    for (const Grant& each : seen_) first = std::min(first, each.until);
    return first;
  }

  Grants seen_;       // for the next WAIT
  Grants under_way_;  // of the WAIT that is under way
  bool asks_ = false;
  remote::Moment due_;
};

}  // namespace mortise::redis
