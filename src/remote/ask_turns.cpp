// SPDX-License-Identifier: MIT
#include "remote/ask_turns.hpp"

#include <algorithm>
#include <utility>

namespace mortise::remote {
namespace {

// More waiters ask less often, so that 10,000 of them cost less than 100 requests per second. Not
// each request is full: a waiter takes those along whose turn has come. Even the longest period is
// half of the time for which a server bears silence.
constexpr std::size_t full_requests_per_second = 80;
constexpr std::chrono::nanoseconds shortest_pause = core::fallback_period / 2;
constexpr std::chrono::nanoseconds longest_pause_of_places = core::fallback_period;

}  // namespace

void AskTurns::ask_at(const Waiter& waiter, Instant when) {
  const std::lock_guard lock(mutex_);
  moments_.add(when, waiter);
}

AskTurns::Waiters AskTurns::take_due(Instant now) {
  Waiters due;
  if (moments_.next() > now) return due;
  const std::lock_guard lock(mutex_);
  for (const auto& each : moments_.take(now)) {
    if (Waiter waiter = each.lock(); waiter && waits_(*waiter)) due.push_back(std::move(waiter));
  }
  return due;
}

void AskTurns::placed(const Waiter& waiter, Instant now) {
  const std::lock_guard lock(mutex_);
  const AttemptId& attempt = waiter->request().attempt;
  const auto found = places_.find(attempt);
  if (found != places_.end()) return renew(found->second, now);
  Place& place = places_[attempt];
  place.waiter = waiter;
  place.attempt = attempt;
  try {
    place.in_order = in_order_.add(now, &place);
  } catch (...) {
    places_.erase(attempt);
    throw;
  }
  any_places_.store(true);
  forget_some(now);
}

// Each place is renewed once per period at least: the others take it along once it is older than
// the pause, and its own turn comes within a period.
AskTurns::Turn AskTurns::take_turn(const Waiter& waiter, Instant now) {
  Turn turn;
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(waiter->request().attempt);
  if (found == places_.end()) {
    forget_some(now);
    return turn;
  }
  Place& own = found->second;
  if (!still_waiting(own)) return turn;
  const Instant renewed = own.in_order->first;
  if (now - renewed < pause()) {
    // Its own thread asks again only in a second.
    if (!own.is_left_out) own.left_out = left_out_.add(renewed + period(), &own);
    own.is_left_out = true;
    turn.is_left_out = true;
    return turn;
  }
  turn.together.reserve(most_together);
  turn.together.push_back(waiter);
  renew(own, now);
  end_left_out(own);
  while (turn.together.size() < most_together) {
    Place& oldest = *(*in_order_.first())->second;  // if not another one, its own
    if (now - oldest.in_order->first < pause()) break;
    Waiter other = still_waiting(oldest);
    if (!other) continue;
    renew(oldest, now);
    turn.together.push_back(std::move(other));
  }
  if (turn.together.size() > 1) return turn;
  erase(own);  // it asks alone, and the reply shows whether it has a place
  turn.together.clear();
  return turn;
}

AskTurns::Waiter AskTurns::take_left_out(Instant now) {
  if (left_out_.next() > now) return nullptr;
  const std::lock_guard lock(mutex_);
  while (left_out_.next() <= now) {
    Place& place = *(*left_out_.first())->second;
    end_left_out(place);
    if (Waiter waiter = still_waiting(place)) return waiter;
  }
  return nullptr;
}

std::chrono::nanoseconds AskTurns::pause() const noexcept {
  const std::chrono::nanoseconds all = std::chrono::seconds(in_order_.size());
  const std::chrono::nanoseconds by_number = all / (full_requests_per_second * most_together);
  return std::clamp(by_number, shortest_pause, longest_pause_of_places);
}

std::chrono::nanoseconds AskTurns::period() const noexcept { return pause() + shortest_pause; }

void AskTurns::renew(Place& place, Instant now) noexcept {
  place.in_order = in_order_.move(place.in_order, now);
  if (place.is_left_out) place.left_out = left_out_.move(place.left_out, now + period());
}

void AskTurns::end_left_out(Place& place) noexcept {
  if (std::exchange(place.is_left_out, false)) left_out_.remove(place.left_out);
}

void AskTurns::erase(Place& place) noexcept {
  end_left_out(place);
  in_order_.remove(place.in_order);
  places_.erase(places_.find(place.attempt));
  any_places_.store(!places_.empty());
}

// Otherwise each request would look for its turn as long as the client lives. Each new place
// forgets two, so there are never many more than waiters.
void AskTurns::forget_some(Instant now) noexcept {
  for (int i = 0; i < 2; ++i) {
    const auto oldest = in_order_.first();
    if (!oldest || now - (*oldest)->first < pause() || still_waiting(*(*oldest)->second)) return;
  }
}

AskTurns::Waiter AskTurns::still_waiting(Place& place) noexcept {
  Waiter waiter = place.waiter.lock();
  if (waiter && !waiter->done() && waits_(*waiter)) return waiter;
  erase(place);
  return nullptr;
}

}  // namespace mortise::remote
