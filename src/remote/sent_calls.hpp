// SPDX-License-Identifier: MIT
// The calls that went by one connection after another and are not answered, and when their
// connection counts as dead. It writes nothing.
#pragma once

#include <mortise/clock.hpp>

#include "remote/call.hpp"
#include "remote/round_trip.hpp"
#include "remote/timer.hpp"
#include "remote/under_way.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace mortise::remote {

/// @tparam Call see UnderWay; it has a `patience` as well, or its deadline is given
/// @thread_safety see each group of members
template <class Call>
class SentCalls {
 public:
  using Calls = typename UnderWay<Call>::Calls;
  using Place = typename UnderWay<Call>::Place;

  /// This many calls may be under way. A further call would only wait at the server, and its time
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
  /// @return the time that a call has for its answer if it leaves now.
  [[nodiscard]] std::chrono::nanoseconds time_for(const Patience& patience) const noexcept {
    return round_trip_.time(patience.usual, patience.longest);
  }

  // Under the mutex of the connection.

  /// @return true if a call of that kind is not answered.
  template <class Which>
  [[nodiscard]] bool any(Which which) const {
    return calls_.any(which);
  }
  /// `add()` of one call needs no memory.
  void make_room() { calls_.make_room(); }
  struct Added {
    Place place{};
    bool is_due_earlier = false;  ///< the thread that polls may sleep longer than it should
  };
  /// The bytes of the call are queued. Before the mutex is left, no thread writes them.
  Added add(Call& call, Clock& clock) noexcept {
    // The time does not count from the making of the call, because its thread may have stood still
    // since. Otherwise all other calls under way would be in doubt because of a call that has just
    // left.
    const bool has_patience = call.patience.usual.count() > 0;
    call.left = call.asked;
    if (call.asked == Instant{} || has_patience) {
      call.left = clock.now();
      if (call.asked == Instant{}) call.asked = call.left;
      if (call.since == Instant{}) call.since = call.asked;
      if (has_patience) call.deadline = call.left + time_for(call.patience);
    }
    const Instant deadline = call.deadline;
    const bool is_alone = calls_.empty();
    // The caller of another call waits for its answer, and looks itself at its time. No caller
    // waits for a renewal.
    const bool is_renewal = call.purpose() == Purpose::renew;
    const Place place = calls_.add(std::move(call));
    bool is_earlier = false;
    if (is_alone) {
      due_.put(deadline);
      known_due_ = never;
    } else if (deadline < due_.get()) {
      is_earlier = due_.bring_forward(deadline);
    }
    const bool is_due_earlier = is_renewal && (is_earlier || deadline < known_due_);
    if (is_due_earlier) known_due_ = deadline;
    return {place, is_due_earlier};
  }
  /// Exactly that call was never sent. @return it; none = the connection ended
  [[nodiscard]] Calls take_back(const Place& place) noexcept { return calls_.take_back(place); }

  // Under that mutex, in the reader's role.

  /// The connection ended. @return the calls that were not answered
  [[nodiscard]] Calls end() noexcept {
    due_.put(never);
    known_due_ = never;
    return calls_.end();
  }
  /// The first request of a connection leaves.
  void begin(Instant now) noexcept { round_trip_.begin(now); }
  /// It was answered.
  void begun(Instant now) noexcept { round_trip_.begun(now); }
  /// @return true if a call is too late, the oldest one or one behind it: the renewal of a short
  /// lease does not have the time of the release before it.
  [[nodiscard]] bool is_late(Instant now) noexcept {
    // This looks at each call, so it runs only once `due()` has come. Each answer and each later
    // call puts the next time off by at least the shortest time of a call.
    const Instant dead = calls_.earliest([this](Instant left, Instant deadline) {
      return deadline == never ? never : round_trip_.dead_at(deadline, left);
    });
    if (dead > now) {
      due_.put(dead);
      known_due_ = dead;
    }
    return dead <= now;
  }

  // The reader's role, without a mutex.

  /// A reply came. @return the call that it answers; null = no call is under way. `answer()` or
  /// `leave()` comes next
  [[nodiscard]] Call* take_oldest() noexcept { return calls_.take_oldest(); }
  /// The reply was to something before that call, which is the oldest still.
  void leave() noexcept { calls_.leave(); }
  /// @return when the reply to the call was read; unset for a release that is alone: no other call
  /// needs the time of its answer
  [[nodiscard]] Instant read(Clock& clock) noexcept {
    const Call& call = calls_.taken();
    if (calls_.size() == 1 && is_release(call.purpose())) return {};
    const Instant now = clock.now();
    round_trip_.answered(call.left, now);
    return now;
  }
  /// The call is answered.
  void answer() noexcept { calls_.answer(); }
  /// The user has the answer.
  void finish() noexcept { calls_.finish(); }
  /// The user could not learn the answer: the call counts as not answered. The connection ends now.
  void put_back() noexcept { calls_.put_back(); }

 private:
  UnderWay<Call> calls_;
  RoundTrip round_trip_;
  // Never later than the moment at which the connection counts as dead. A sender brings it forward.
  // `is_late()` puts it off once it has come. An answer does not change it.
  Moment due_;
  // The earliest moment that the polling thread knows. Under the mutex.
  Instant known_due_ = never;
};

}  // namespace mortise::remote
