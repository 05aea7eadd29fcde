// SPDX-License-Identifier: MIT
// Which holds have lasted for a while, so that it is worth something to learn at once that they
// were taken away. A hold costs an entry in a line here, and nothing else while it is short.
#pragma once

#include <mortise/operation.hpp>

#include "remote/timer.hpp"

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently.
class LongHolds {
 public:
  /// @return whether whoever sleeps until `next()` has to look again.
  [[nodiscard]] bool began(HoldId hold, Instant now);
  /// @return those whose time has come, whether they stand or not; they are forgotten here.
  [[nodiscard]] std::vector<HoldId> due(Instant now);
  /// Has one looked at again, after a longer while.
  void again(HoldId hold, Instant now);
  [[nodiscard]] Instant next() const noexcept { return next_.get(); }

 private:
  struct Item {
    HoldId hold{};
    Instant due{};
  };
  /// Each waits for as long as all before it: the first is due first.
  using Line = std::deque<Item>;

  [[nodiscard]] static std::size_t count_due(const Line& line, Instant now);
  static void take(Line& line, Instant now, std::vector<HoldId>& into);
  void show_next();

  std::mutex mutex_;
  Line young_;
  Line long_;
  remote::Moment next_;
};

}  // namespace mortise::redis
