// SPDX-License-Identifier: MIT
// How long a client waits before it tries to reach a server once more.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mortise::remote {

inline constexpr std::chrono::milliseconds first_pause{10};
inline constexpr std::chrono::milliseconds longest_pause{1'000};

/// What was up is tried again almost at once. After that the pause doubles with each failure, and
/// is drawn from the upper half of that step, so that clients that lost one server together do not
/// come back together.
/// @param failures in a row; 0: it was up until now
/// @param random from 0 (included) to 1 (excluded)
/// @param servers how many are tried without a pause in between: the pause doubles with each round
[[nodiscard]] inline std::chrono::nanoseconds backoff(std::size_t failures, double random,
                                                      std::size_t servers = 1) noexcept {
  constexpr std::size_t most_doublings = 10;  // more than it takes to the longest
  const std::size_t doublings = std::min(failures / servers, most_doublings);
  const auto step =
      std::min<std::chrono::nanoseconds>(longest_pause, first_pause * (1U << doublings));
  const double part = failures == 0 ? random : 0.5 + random / 2;
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(part * static_cast<double>(step.count())));
}

/// A new request waits less than a repeated one. A renewal is a new request each time, so its wait
/// has to be short compared with the outage that the lease survives. But callers that try again and
/// again must not connect all the time, and clients that lost one server together must not connect
/// at one moment.
/// @param failing_for the time since a connection was of use
/// @param random from 0 (included) to 1 (excluded)
/// @return how long a new request waits after a try that failed: a twentieth of that time, and up
/// to half as much again
[[nodiscard]] inline std::chrono::nanoseconds pause_of_new_request(
    std::chrono::nanoseconds failing_for, double random) noexcept {
  constexpr int part = 20;  // after ten seconds: two tries per second at most
  const auto least = std::min<std::chrono::nanoseconds>(longest_pause / 2, failing_for / part);
  return least + std::chrono::nanoseconds(
                     static_cast<std::int64_t>(random / 2 * static_cast<double>(least.count())));
}

}  // namespace mortise::remote
