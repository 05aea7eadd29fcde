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
  explicit SentCalls(std::atomic<std::uint64_t>* generations) : calls_(generations) {}

  // Any thread, without a mutex.

  /// @return the number of the connection that there is, or that will be next; grows.
  [[nodiscard]] std::uint64_t generation() const noexcept { return calls_.generation(); }
  [[nodiscard]] std::size_t count() const noexcept { return calls_.size(); }
  [[nodiscard]] bool has_room() const noexcept { return count() < most; }
  /// @return when to ask `is_late()`: the connection does not count as dead before.
  [[nodiscard]] Instant due() const noexcept { return calls_.empty() ? never : due_.get(); }
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
  // Under that mutex, in the reader's role.

  /// The connection ended. @return the calls that were not answered
  [[nodiscard]] Calls end() noexcept;
  /// The first request of a connection leaves.
  void begin(Instant now) noexcept { round_trip_.begin(now); }
  /// It was answered.
  void begun(Instant now) noexcept { round_trip_.begun(now); }
  /// @return true if the oldest call is too late.
  [[nodiscard]] bool is_late(Instant now) noexcept;

  // The reader's role, without a mutex.

  /// A reply came. @return the call that it answers; null = no call is under way
  [[nodiscard]] Call* take_oldest() noexcept { return calls_.take_oldest(); }
  /// The reply was to the ASKING before that call.
  void leave() noexcept { calls_.leave(); }
  /// The call that was taken is answered by that reply.
  /// @return when it was read; unset for a release that was alone
  [[nodiscard]] Instant read(Clock& clock) noexcept;
  /// Shows that to the threads that ask. Call it after `read()`.
  void answer() noexcept;
  /// @return the call that was taken.
  [[nodiscard]] const Call& taken() const noexcept { return calls_.taken(); }
  /// The user knows the answer to the call that was taken.
  void finish() noexcept { calls_.finish(); }
  /// The user could not learn the answer: the call counts as not answered. The connection ends now.
  void put_back() noexcept { calls_.put_back(); }

 private:
  [[nodiscard]] Instant dead_at() const noexcept;

  UnderWay calls_;
  remote::RoundTrip round_trip_;
  LoadedScripts loaded_;
  // Not later than the connection counts as dead. A sender brings it forward. It is put off when it
  // has come, and not with each answer.
  remote::Moment due_;
};

}  // namespace mortise::redis
