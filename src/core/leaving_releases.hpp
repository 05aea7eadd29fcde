// SPDX-License-Identifier: MIT
// The releases of one name that are about to leave for the server.
#pragma once

#include <atomic>
#include <cstdint>

namespace mortise::core {

/// Other callers of the name wait until a release has left. If no caller looks at the name in the
/// meantime, the thread that sends the release need not lock the name's mutex again.
/// @thread_safety under the mutex of the name, except for `end_unseen()`
class LeavingReleases {
 public:
  /// One more is about to leave. @param alone no caller waits for the name
  void begin(bool alone) noexcept {
    if (!is_any() && alone) {
      unseen_.store(true);
    } else {
      ++seen_;
    }
  }
  /// A caller looks. @return true if a release is about to leave. Then `end()` has to follow
  [[nodiscard]] bool is_any() noexcept {
    if (unseen_.load(std::memory_order_relaxed) && unseen_.exchange(false)) ++seen_;
    return seen_ > 0;
  }
  /// One has left.
  void end() noexcept {
    if (!unseen_.exchange(false)) --seen_;
  }
  /// The same, for the thread that sent it. @thread_safety without the mutex
  /// @return false: a caller has looked since, and `end()` has to be called
  [[nodiscard]] bool end_unseen() noexcept { return unseen_.exchange(false); }

 private:
  // The only one, if no caller has looked since it began. Each of the others counts in `seen_`.
  std::atomic<bool> unseen_{false};
  std::uint32_t seen_ = 0;
};

}  // namespace mortise::core
