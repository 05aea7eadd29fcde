// SPDX-License-Identifier: MIT
// How a connection ends: suspected, retired, left, dropped, closed.
#include "postgres/connection.hpp"

#include <utility>

namespace mortise::postgres {

void Connection::suspect() {
  link_.suspect();
  host_.changed(*this);
}

void Connection::retire() {
  retired_.store(true);
  host_.changed(*this);
}

void Connection::leave() {
  std::unique_ptr<Pq> pq;  // destroyed after the lock
  const std::lock_guard lock(mutex_);
  if (load_.load() > 0 || link_.is_broken()) return;
  link_.leave();
  descriptor_.store(-1);
  interest_.store(0);
  keys_ = Prepared::no;
  pq.swap(pq_);
}

void Connection::drop(const ServerError& why) {
  const bool was_up = link_.state() == State::up;
  const Instant now = clock_->now();
  std::vector<Call> unanswered;
  bool under_way = false;
  std::unique_ptr<Pq> pq;  // closed after the mutex was left
  {
    const std::lock_guard lock(mutex_);
    under_way = !flights_.empty();
    // First: where there is no memory for it, all stays, and this is done once more. What were left
    // behind would take the answers of the next connection for its own.
    unanswered = take_all_locked();
    link_.drop(now);
    descriptor_.store(-1);
    interest_.store(0);
    pq.swap(pq_);
    retired_.store(false);
    forsaken_.store(false);
  }
  if (pq && under_way) pq->abandon();
  pq.reset();
  route_.rest();
  greeting_.reset();
  settling_ = false;
  user_.dropped(*this, why, was_up, std::move(unanswered));
}

std::vector<Call> Connection::close() {
  std::unique_ptr<Pq> pq;
  const std::lock_guard lock(mutex_);
  link_.leave();
  descriptor_.store(-1);
  pq.swap(pq_);
  return take_all_locked();
}

std::vector<Call> Connection::take_all_locked() {
  std::vector<Call> all;
  all.reserve(flights_.size() + queued_.size());  // or all stay
  // What is under way on one that is stuck was told of then.
  if (stuck_.load()) flights_.clear();
  for (const Flights* const each : {&flights_, &queued_}) {
    for (const Flight& flight : *each) all.push_back(flight.call);
  }
  stuck_.store(false);
  flights_.clear();
  keys_ = Prepared::no;
  results_ = 0;
  first_wave_ = 0;
  queued_.clear();
  load_.store(0);
  return all;
}

}  // namespace mortise::postgres
