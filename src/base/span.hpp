// SPDX-License-Identifier: MIT
// Times that users give, made such that they can be added to a moment. A std::chrono::milliseconds
// counts to 292 million years; as nanoseconds, or as what poll() takes, most of that overflows.
#pragma once

#include <algorithm>
#include <chrono>

namespace mortise::base {

/// Longer spans are as good as no limit, and would overflow as nanoseconds.
inline constexpr std::chrono::hours longest_span{24 * 365 * 100};

/// @return how long to wait where a user said `given`: not at all where that is negative
[[nodiscard]] constexpr std::chrono::milliseconds bounded_wait(
    std::chrono::milliseconds given) noexcept {
  return std::clamp<std::chrono::milliseconds>(given, std::chrono::milliseconds(0), longest_span);
}

/// @return `left` as poll() takes it; a longer wait polls again
[[nodiscard]] constexpr int poll_time(std::chrono::nanoseconds left) noexcept {
  return static_cast<int>(
      std::clamp<std::chrono::milliseconds>(std::chrono::ceil<std::chrono::milliseconds>(left),
                                            std::chrono::milliseconds(0), std::chrono::hours(1))
          .count());
}

}  // namespace mortise::base
