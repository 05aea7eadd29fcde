// SPDX-License-Identifier: MIT
// The clock of one server, estimated from the time in its replies.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/remote/server_time.hpp>

#include "base/mutant.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace mortise::remote {

/// An estimate that is too late lets a copy of a request live that much longer. One that is too
/// early costs a round trip: the server answers `void`, and its reply is the next reading.
/// @thread_safety every member may be called concurrently.
class ServerClock {
 public:
  /// A reply showed the time. @param asked our clock before the request left
  /// @param now our clock when the reply is read, which may have waited for that
  void read(Instant asked, ServerTime at, Instant now) noexcept {
    ahead_.store((at - since_start(std::max(asked, now - longest_way))).count());
  }
  /// The address leads to a server that has not shown its time yet.
  void forget() noexcept { ahead_.store(unknown); }
  /// @return what it shows at that moment, or later by the time that the request for the last
  /// reading took; 0 = unknown.
  [[nodiscard]] ServerTime at(Instant when) const noexcept {
    if (base::mutant("redis.void_by_the_clients_clock") ||
        base::mutant("redlock.void_by_the_clients_clock") ||
        base::mutant("postgres.void_by_the_clients_clock")) {
      return std::chrono::duration_cast<ServerTime>(
          std::chrono::system_clock::now().time_since_epoch());
    }
    const std::int64_t ahead = ahead_.load();
    return ahead == unknown ? ServerTime{} : since_start(when) + ServerTime(ahead);
  }

  /// An estimate is too late by at most that, even if the thread that asked stood still.
  static constexpr std::chrono::seconds longest_way{1};

 private:
  static constexpr std::int64_t unknown = INT64_MIN;
  static ServerTime since_start(Instant when) noexcept {
    return std::chrono::duration_cast<ServerTime>(when - Instant{});
  }
  std::atomic<std::int64_t> ahead_{unknown};
};

}  // namespace mortise::remote
