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
  Flights unanswered;
  bool under_way = false;
  std::unique_ptr<Pq> pq;  // closed after the mutex was left
  {
    const std::lock_guard lock(mutex_);
    under_way = !flights_.empty();
    // What were left behind would take the answers of the next connection for its own.
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
  turned_away_.reset();
  user_.dropped(*this, why, was_up, std::move(unanswered));
}

Flights Connection::close() noexcept {
  route_.end();
  std::unique_ptr<Pq> pq;
  const std::lock_guard lock(mutex_);
  link_.leave();
  descriptor_.store(-1);
  pq.swap(pq_);
  return take_all_locked();
}

Flights Connection::take_all_locked() noexcept {
  // What is under way on one that is stuck was told of then.
  if (stuck_.load()) flights_.clear();
  Flights all = std::exchange(flights_, {});
  all.remove_if([](const Flight& each) { return each.prepares; });
  all.splice(all.end(), queued_);
  for (Flight& each : all) each.result.reset();
  stuck_.store(false);
  keys_ = Prepared::no;
  results_ = 0;
  first_wave_ = 0;
  load_.store(0);
  return all;
}

}  // namespace mortise::postgres
