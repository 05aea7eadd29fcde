// SPDX-License-Identifier: MIT
// The calls that went by one connection after another and are not answered, and when their
// connection counts as dead. It writes nothing.
#pragma once

#include <mortise/clock.hpp>

#include "redis/call.hpp"
#include "redis/loaded_scripts.hpp"
#include "remote/round_trip.hpp"
#include "remote/timer.hpp"
#include "remote/under_way.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mortise::redis {

/// @thread_safety see each group of members
class SentCalls {
 public:
  using UnderWay = remote::UnderWay<Call>;
  using Calls = UnderWay::Calls;
  using Place = UnderWay::Place;

  /// So many calls may be under way: a further one would only wait at the server, and its time
  /// begins when it leaves.
  static constexpr std::size_t most = 512;

  /// @param generations see UnderWay
  explicit SentCalls(std::atomic<std::uint64_t>* generations) noexcept : calls_(generations) {}

  // Any thread, without a mutex.

  /// @return the number of the connection that there is, or that will be next; grows.
  [[nodiscard]] std::uint64_t generation() const noexcept { return calls_.generation(); }
  [[nodiscard]] std::size_t count() const noexcept { return count_.load(); }
  [[nodiscard]] bool has_room() const noexcept { return count() < most; }
  /// @return when the connection counts as dead, unless a reply comes.
  [[nodiscard]] Instant due() const noexcept { return due_.get(); }
  /// @return the time that a call has for its answer if it leaves now. See `RoundTrip::time()`.
  [[nodiscard]] std::chrono::nanoseconds time_for(std::chrono::nanoseconds shortest,
                                                  std::chrono::nanoseconds longest) const noexcept {
    return round_trip_.time(shortest, longest);
  }
  /// @return the scripts that were sent whole.
  [[nodiscard]] LoadedScripts& loaded() noexcept { return loaded_; }

  // Under the mutex of the connection.

  /// @return true if a call of that kind is not answered.
  template <class Which>
  [[nodiscard]] bool any(Which which) const {
    return calls_.any(which);
  }
  /// `add()` of one call needs no memory.
  void make_room() { calls_.make_room(); }
  /// The bytes of the call are queued. Before the mutex is left, no thread writes them.
  Place add(Call& call, Clock& clock) noexcept;
  /// Exactly that call was never sent. @return it; none = the connection ended
  [[nodiscard]] Calls take_back(const Place& place) noexcept;
  /// The connection ended. @return the calls that were not answered
  [[nodiscard]] Calls end() noexcept;
  /// The first request of a connection leaves.
  void begin(Instant now) noexcept { round_trip_.begin(now); }
  /// It was answered.
  void begun(Instant now) noexcept { round_trip_.begun(now); }
  /// @return true if the oldest call is too late.
  [[nodiscard]] bool is_late(Instant now) const noexcept { return dead_at() <= now; }

  // The same, of the reader's role.

  /// A reply came. @return the call that it answers; null = no call is under way
  [[nodiscard]] Call* take_oldest() noexcept;
  /// The call that was taken is answered by that reply.
  /// @return when it was read; unset for a release that was alone
  [[nodiscard]] Instant read(Clock& clock) noexcept;
  /// Shows the changes to the threads that ask without the mutex. Call it after `read()`.
  void note() noexcept;
  /// The call that was taken is the oldest again.
  void put_back() noexcept;

  // The reader's role, without a mutex.

  /// @return the call that was taken.
  [[nodiscard]] const Call& taken() const noexcept { return taken_.front(); }
  /// The user knows the answer to the call that was taken.
  void finish() noexcept;
  void forget() noexcept { taken_.clear(); }

 private:
  [[nodiscard]] Instant dead_at() const noexcept;

  UnderWay calls_;
  remote::RoundTrip round_trip_;
  LoadedScripts loaded_;
  std::atomic<std::size_t> count_{0};
  remote::Moment due_;
  Calls taken_;  // one, whose answer the user learns
  Calls over_;   // empty ones, whose memory the next calls get
};

}  // namespace mortise::redis
