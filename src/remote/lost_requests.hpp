// SPDX-License-Identifier: MIT
// The requests of one attempt that were not answered before their connection broke. Each of them
// may have taken a hold, or may still take one. It sends nothing and reads no clock.
#pragma once

#include <mortise/clock.hpp>

#include "base/mutant.hpp"
#include "remote/void_moment.hpp"

#include <algorithm>
#include <cstdint>

namespace mortise::remote {

/// The client looks at the server for what such a request took, and repeats the look until the
/// server ignores the request.
/// @thread_safety one thread at a time
class LostRequests {
 public:
  [[nodiscard]] bool any() const noexcept { return look_ != Look::needless; }
  /// @return when the next look is due; `never` if none is, or if it waits for a connection.
  [[nodiscard]] Instant due() const noexcept { return look_ == Look::planned ? due_ : never; }

  /// A connection broke before it answered a request.
  /// @param due a look at the server before this moment would show nothing
  void add(const VoidMoment& moment, Instant due) noexcept {
    moment_.extend(moment);
    due_ = std::max(due_, due);
    look_ = Look::planned;
  }
  /// @return true if a look has to begin now; it is under way then.
  [[nodiscard]] bool begin_look(Instant now) noexcept {
    const bool waits = look_ == Look::planned || look_ == Look::failed;
    if (!waits || due_ > now) return false;
    look_ = Look::under_way;
    return true;
  }
  /// The look could not be sent. It waits for the next connection.
  void fail_look() noexcept {
    if (look_ == Look::under_way) look_ = Look::failed;
  }
  /// The server has executed a later request for the attempt.
  /// @param at when, by the clock of that number
  /// @return true if a lost request may still take effect: a look is planned
  bool executed(ServerTime at, std::uint64_t clock, Instant now) noexcept {
    if (!any()) return false;
    due_ = moment_.next_try(at, clock, now);
    look_ = Look::planned;
    const bool looks_once = base::mutant("redis.taken_back_only_once") ||
                            base::mutant("redlock.taken_back_only_once") ||
                            base::mutant("postgres.taken_back_only_once");
    if (due_ == never || looks_once) clear();
    return any();
  }
  /// The client closes: looks now, even if a lost request may still arrive.
  void hurry(Instant now) noexcept { due_ = std::min(due_, now); }
  /// No look will succeed.
  void clear() noexcept { *this = {}; }
  /// @return true if a look is under way or due before `until`.
  [[nodiscard]] bool is_pending(Instant now, Instant until) const noexcept {
    if (!any() || is_forgotten(now)) return false;
    return look_ == Look::under_way || due_ <= until;
  }
  /// @return true if nothing that was lost can arrive any more.
  [[nodiscard]] bool is_forgotten(Instant now) const noexcept {
    return !any() || moment_.is_forgotten(now);
  }

 private:
  enum class Look : std::uint8_t {
    needless,   ///< no request was lost
    planned,    ///< for `due_`
    under_way,  ///< its answer has not come
    failed,     ///< it begins again with the next connection
  };

  VoidMoment moment_{};
  Instant due_{};
  Look look_ = Look::needless;
};

}  // namespace mortise::remote
