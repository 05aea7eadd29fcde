// SPDX-License-Identifier: MIT
// How a connection ends: suspected, retired, left, dropped, closed.
#include "postgres/connection.hpp"
#include "remote/backoff.hpp"

#include <utility>

namespace mortise::postgres {

void Connection::suspect() {
  suspect_.store(true);
  host_.changed(*this);
}

void Connection::retire() {
  retired_.store(true);
  host_.changed(*this);
}

void Connection::leave() {
  std::unique_ptr<Pq> pq;  // destroyed after the lock
  const std::lock_guard lock(mutex_);
  if (load_.load() > 0 || spoiled_.load()) return;
  state_.store(State::idle);
  wanted_.store(false);
  // Whoever wants it again does not wait until the time has passed that connecting had.
  limit_.store(0);
  descriptor_.store(-1);
  interest_.store(0);
  pq.swap(pq_);
}

void Connection::drop(const ServerError& why) {
  const bool was_up = state_.load() == State::up;
  if (!was_up) ++failures_;
  std::deque<Call> unanswered;
  bool under_way = false;
  std::unique_ptr<Pq> pq;  // closed after the mutex was left
  const Instant again = clock_->now() + remote::backoff(failures_, random_.unit());
  limit_.store(again.time_since_epoch().count());
  {
    const std::lock_guard lock(mutex_);
    state_.store(State::idle);
    descriptor_.store(-1);
    interest_.store(0);
    pq.swap(pq_);
    under_way = !flights_.empty();
    unanswered = take_all_locked();
    spoiled_.store(false);
    suspect_.store(false);
    retired_.store(false);
    forsaken_.store(false);
  }
  if (pq && under_way) pq->abandon();
  pq.reset();
  wanted_.store(false);
  route_.rest();
  greeting_.reset();
  settling_ = false;
  user_.dropped(*this, why, was_up, std::move(unanswered));
}

std::deque<Call> Connection::close() {
  std::unique_ptr<Pq> pq;
  wanted_.store(false);
  const std::lock_guard lock(mutex_);
  state_.store(State::idle);
  descriptor_.store(-1);
  pq.swap(pq_);
  return take_all_locked();
}

std::deque<Call> Connection::take_all_locked() {
  std::deque<Call> all;
  // What is under way on one that is stuck was told of then.
  if (stuck_.exchange(false)) flights_.clear();
  for (Flights* const each : {&flights_, &queued_}) {
    for (Flight& flight : *each) all.push_back(std::move(flight.call));
  }
  flights_.clear();
  results_ = 0;
  first_wave_ = 0;
  queued_.clear();
  load_.store(0);
  return all;
}

}  // namespace mortise::postgres
