// SPDX-License-Identifier: MIT
// The statements of a connection: sent by all threads, their results read by one at a time. Its
// life is in connection.cpp.
#include "postgres/connection.hpp"

#include <poll.h>

#include <utility>

namespace mortise::postgres {

Connection::Sent Connection::send(Call& call, const Arguments& arguments) {
  const std::lock_guard lock(mutex_);
  if (!up() || !pq_) return Sent::refused;
  if (user_.withdrawn(call)) return Sent::withdrawn;
  used_.store(true);
  if (flights_.empty()) {
    // Nobody has looked at it since the last answer: it may have gone long ago, and then not a byte
    // leaves, which is worth knowing.
    if (!pq_->stands()) {
      spoiled_.store(true);
      host_.changed(*this);
      return Sent::refused;
    }
  } else if (pooled_.load()) {
    // The pooler hands its server on at the end of each transaction, whatever is under way to it.
    queued_.push_back({call, arguments});
    load_.fetch_add(1);
    return Sent::sent;
  }
  load_.fetch_add(1);
  flights_.push_back({call});
  if (!write_locked(call, arguments)) {
    spoiled_.store(true);
    host_.changed(*this);
  }
  return Sent::sent;
}

bool Connection::write_locked(const Call& call, const Arguments& arguments) {
  const Statement& statement = statements_.of(call.kind);
  const bool queued = pooled_.load() ? pq_->run(statement.text, arguments)
                                     : pq_->run_prepared(statement.name, arguments);
  if (!queued || !pq_->sync()) return false;
  look_again_locked();
  return true;
}

void Connection::look_again_locked() noexcept {
  const auto wanted = static_cast<short>(POLLIN | (pq_->blocked() ? POLLOUT : 0));
  if (interest_.exchange(wanted) != wanted) host_.changed(*this);
}

void Connection::write_queued_locked() {
  while (!queued_.empty() && flights_.empty()) {
    Queued next = std::move(queued_.front());
    queued_.pop_front();
    if (user_.withdrawn(next.call)) {
      load_.fetch_sub(1);
      dismissed_.push_back(std::move(next.call));
      continue;
    }
    flights_.push_back({next.call});
    if (!write_locked(next.call, next.arguments)) spoiled_.store(true);
  }
}

bool Connection::linger() {
  constexpr int a_moment = 4;  // ms: nothing can call it back
  if (!up() || load_.load() == 0) return false;
  const std::unique_lock role(reading_, std::try_to_lock);
  if (!role || !up() || load_.load() == 0) return false;
  pollfd polled{descriptor(), interest(), 0};
  if (::poll(&polled, 1, a_moment) <= 0) return false;
  receive();
  return true;
}

void Connection::receive() {
  suspect_.store(false);
  std::deque<Flight> done;
  std::vector<std::string> news;
  std::vector<Call> dismissed;
  {
    const std::lock_guard lock(mutex_);
    if (!pq_ || spoiled_.load()) return;
    bool good = (!pq_->blocked() || pq_->flush()) && pq_->receive();
    // What has arrived before the end counts.
    while (std::optional<Result> result = pq_->next()) {
      if (flights_.empty()) {
        good = false;
        break;
      }
      Flight& front = flights_.front();
      if (result->kind() == Result::Kind::synced) {
        done.push_back(std::move(front));
        flights_.pop_front();
        load_.fetch_sub(1);
        write_queued_locked();
      } else if (!front.result || front.result->kind() != Result::Kind::error) {
        front.result = std::move(result);
      }
    }
    while (std::optional<std::string> payload = pq_->notification()) {
      news.push_back(std::move(*payload));
    }
    if (!good) spoiled_.store(true);
    if (good) look_again_locked();
    dismissed.swap(dismissed_);
  }
  for (const Flight& flight : done) {
    if (flight.result) user_.answered(flight.call, *flight.result);
  }
  for (const Call& call : dismissed) user_.dismissed(call);
  for (const std::string& payload : news) user_.notified(payload);
}

}  // namespace mortise::postgres
