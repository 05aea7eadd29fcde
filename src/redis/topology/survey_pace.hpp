// SPDX-License-Identifier: MIT
// The moments at which a client asks the servers of a cluster for their slots. It asks no server
// and reads no clock.
#pragma once

#include <mortise/clock.hpp>

#include "remote/timer.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

namespace mortise::redis {

/// A table that is out of date costs a redirection. If no redirection corrects it, because its
/// server is dead, it costs its names until another server is asked. So whatever looks like a
/// change has a server asked soon, and then more and more seldom, until all that is wanted can be
/// reached.
/// @thread_safety one thread at a time, except for `next()`
class SurveyPace {
 public:
  /// Servers are to be asked. @return true if that is earlier than it was to be
  [[nodiscard]] bool want(Instant now) {
    if (asked_ == 0) return next_.bring_forward(std::max(now, begun_ + pause_));
    is_wanted_again_ = true;
    return false;
  }
  /// @return when that is due. @thread_safety any thread
  [[nodiscard]] Instant next() const noexcept { return next_.get(); }
  /// @return true if it is due, and no server is being asked: `begin()` has to follow.
  [[nodiscard]] bool take(Instant now) { return asked_ == 0 && next_.take(now); }
  /// So many servers are asked.
  void begin(std::size_t servers, Instant now) noexcept {
    asked_ = servers;
    is_settled_ = is_wanted_again_ = false;
    begun_ = now;
  }
  /// One of them has answered, or will not. @param settled it has settled it
  /// @param agreed false: every call waits for an agreement, so the pauses are shorter
  void end(bool settled, bool agreed, Instant now) {
    is_settled_ = is_settled_ || settled;
    if (--asked_ > 0) return;
    if (is_settled_) pause_ = shortest_pause;
    if (is_settled_ && !is_wanted_again_) return;
    const auto longest = agreed ? longest_pause : longest_pause / 2;
    if (!is_settled_) pause_ = std::min(pause_ * 2, longest);
    next_.bring_forward(now + pause_);
  }
  /// A server has reported which has what.
  void told() noexcept { told_ = begun_; }
  /// @return true if one has, and was asked at that moment or later.
  [[nodiscard]] bool is_told(Instant since) const noexcept { return told_ && *told_ >= since; }

 private:
  static constexpr std::chrono::milliseconds shortest_pause{50};
  static constexpr std::chrono::milliseconds longest_pause{800};

  remote::Moment next_;
  std::size_t asked_ = 0;         // servers that have not answered
  bool is_settled_ = false;       // one of them has settled it
  bool is_wanted_again_ = false;  // it was wanted in the meantime
  Instant begun_{};
  std::chrono::milliseconds pause_{shortest_pause};
  std::optional<Instant> told_;
};

}  // namespace mortise::redis
