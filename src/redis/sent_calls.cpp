// SPDX-License-Identifier: MIT
#include "redis/sent_calls.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

namespace mortise::redis {

SentCalls::Place SentCalls::add(Call& call, Clock& clock) noexcept {
  call.route.awaits_asking = call.route.asks_first;
  const bool whole = call.written.whole;
  const std::uint8_t script = call.written.script;
  // The time does not count from the making of the call, because its thread may have stood still
  // since. Otherwise all other calls under way would be in doubt because of a call that has just
  // left.
  call.left = call.asked;
  if (call.asked == Instant{} || call.patience.usual.count() > 0) {
    const Instant now = clock.now();
    if (call.asked == Instant{}) call.asked = now;
    if (call.since == Instant{}) call.since = call.asked;
    call.left = now;
    if (call.patience.usual.count() > 0)
      call.deadline = now + time_for(call.patience.usual, call.patience.longest);
  }
  const Instant deadline = call.deadline;
  const bool is_alone = calls_.empty();
  const Place place = calls_.add(std::move(call));
  if (is_alone) {
    due_.put(deadline);
  } else if (deadline < due_.get()) {
    due_.bring_forward(deadline);
  }
  if (whole) loaded_.sent(script, place.generation);
  return place;
}

SentCalls::Calls SentCalls::take_back(const Place& place) noexcept {
  return calls_.take_back(place);
}

SentCalls::Calls SentCalls::end() noexcept {
  due_.put(never);
  return calls_.end();
}

// If a release was the only call under way, no other call needs the time of its answer.
Instant SentCalls::read(Clock& clock) noexcept {
  const Call& call = calls_.taken();
  if (calls_.size() == 1 && call.kind == Call::Kind::release) return {};
  const Instant now = clock.now();
  round_trip_.answered(call.left, now);
  return now;
}

// The next call may have less time than the one before it.
void SentCalls::answer() noexcept {
  calls_.answer();
  const Instant dead = dead_at();
  if (dead < due_.get()) due_.bring_forward(dead);
}

bool SentCalls::is_late(Instant now) noexcept {
  const Instant dead = dead_at();
  if (dead > now) due_.put(dead);
  return dead <= now;
}

Instant SentCalls::dead_at() const noexcept {
  const UnderWay::Limits oldest = calls_.oldest();
  return oldest.deadline == never ? never : round_trip_.dead_at(oldest.deadline, oldest.left);
}

}  // namespace mortise::redis
