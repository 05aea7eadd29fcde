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
  const Place place = calls_.add(std::move(call));
  note();
  if (whole) loaded_.sent(script, place.generation);
  return place;
}

SentCalls::Calls SentCalls::take_back(const Place& place) noexcept {
  Calls taken = calls_.take_back(place);
  note();
  return taken;
}

SentCalls::Calls SentCalls::end() noexcept {
  Calls unanswered = calls_.end();
  note();
  return unanswered;
}

Call* SentCalls::take_oldest() noexcept {
  calls_.reuse(over_);
  taken_ = calls_.answered();
  return taken_.empty() ? nullptr : &taken_.front();
}

// If a release was the only call under way, no other call needs the time of its answer.
Instant SentCalls::read(Clock& clock) noexcept {
  const Call& call = taken_.front();
  if (calls_.empty() && call.kind == Call::Kind::release) return {};
  const Instant now = clock.now();
  round_trip_.answered(call.left, now);
  return now;
}

void SentCalls::put_back() noexcept {
  calls_.put_back(taken_);
  note();
}

void SentCalls::finish() noexcept {
  taken_.front() = Call{};  // the user's part of it is let go here, under no mutex
  over_.splice(over_.begin(), taken_);
}

// A thread that changes the calls gives up the mutex before it does anything else that other
// threads could take for the news. A full barrier here, four times a cycle, would order nothing
// more.
void SentCalls::note() noexcept {
  count_.store(calls_.size(), std::memory_order_release);
  due_.put(dead_at());
}

Instant SentCalls::dead_at() const noexcept {
  if (calls_.empty()) return never;
  const Call& oldest = calls_.oldest();
  return round_trip_.dead_at(oldest.deadline, oldest.left);
}

}  // namespace mortise::redis
