// SPDX-License-Identifier: MIT
// The statements of a connection: sent by all threads, their results read by one at a time. Its
// life is in connection.cpp.
//
// They go in waves: what is asked for while a wave is under way leaves together when that has come
// back, or, where the server is far away, after a moment. The releases of a wave are one
// transaction, its takes another one, so that many grants cost one flush of the server's log;
// whatever else there is has a transaction each. A statement that fails takes its transaction with
// it: the others of it are sent once more, each alone.
#include "postgres/connection.hpp"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace mortise::postgres {
namespace {

// Statements of one wave, and of a transaction, whose rows stay locked until its end.
constexpr std::size_t most_together = 64;
// A wave that is under way for so long is worth a second one behind it, but not a third: each may
// cost the server a flush, one after the other.
constexpr std::chrono::milliseconds long_way{1};
// Who was heard of so lately still stands.
constexpr std::chrono::milliseconds fresh{1};

}  // namespace

Connection::Sent Connection::send(Call& call, Arguments arguments) {
  std::vector<Call> dismissed;
  const Sent sent = queue(call, std::move(arguments), dismissed);
  for (const Call& each : dismissed) user_.dismissed(each);
  return sent;
}

Connection::Sent Connection::queue(Call& call, Arguments arguments, std::vector<Call>& dismissed) {
  const std::lock_guard lock(mutex_);
  if (!up() || !pq_) return Sent::refused;
  if (user_.withdrawn(call)) return Sent::withdrawn;
  used_.store(true);
  const Instant now = clock_->now();
  if (flights_.empty() && now - heard_ >= fresh && !pq_->stands()) {
    // Nobody has looked at it since the last answer: it may have gone long ago, and then not a byte
    // leaves, which is worth knowing.
    spoiled_.store(true);
    host_.changed(*this);
    return Sent::refused;
  }
  load_.fetch_add(1);
  queued_.push_back({call, std::move(arguments)});
  if (!may_send_locked(now)) return Sent::sent;
  if (queued_.size() == 1) {
    send_wave_locked(now);
  } else {
    next_wave_locked(now, dismissed);
  }
  return Sent::sent;
}

bool Connection::may_send_locked(Instant now) {
  if (queued_.empty() || spoiled_.load()) return false;
  return flights_.empty() ||
         (!pooled_.load() && first_wave_ == flights_.size() && now - wave_sent_ >= long_way);
}

void Connection::send_wave_locked(Instant now) {
  bool good = true;
  wave_sent_ = now;
  if (queued_.size() == 1 || pooled_.load()) {
    // A pooler hands its server on at the end of each transaction, whatever is under way to it.
    good = send_together_locked(1);
  } else {
    good = send_together_locked(to_the_front_locked(Call::Kind::release)) &&
           send_together_locked(to_the_front_locked(Call::Kind::acquire));
    for (std::size_t alone = to_the_front_locked({}); good && alone > 0; --alone) {
      good = send_together_locked(1);
    }
  }
  if (first_wave_ == 0) first_wave_ = flights_.size();
  if (good && pq_->flush()) return look_again_locked();
  spoiled_.store(true);
  host_.changed(*this);
}

/// Moves what may share a transaction of that kind to the front; of none: what may share none.
/// @return how many there are, and may go at once
std::size_t Connection::to_the_front_locked(std::optional<Call::Kind> kind) {
  const auto fits = [&](const Queued& queued) {
    const Call::Kind its = queued.call.kind;
    const bool shares =
        !queued.call.alone && (its == Call::Kind::release || its == Call::Kind::acquire);
    return kind ? shares && its == *kind : !shares;
  };
  const auto end = std::stable_partition(queued_.begin(), queued_.end(), fits);
  return std::min(most_together, static_cast<std::size_t>(end - queued_.begin()));
}

// One transaction: the first so many that are queued.
bool Connection::send_together_locked(std::size_t count) {
  if (count == 0) return true;
  const bool pooled = pooled_.load();
  bool good = true;
  for (std::size_t i = 0; i < count; ++i) {
    Queued next = std::move(queued_.front());
    queued_.pop_front();
    const Statement& statement = statements_.of(next.call);
    good = good && (pooled ? pq_->run(statement.text, next.arguments)
                           : pq_->run_prepared(statement.name, next.arguments));
    const Instant deadline = wave_sent_ + next.call.patience;
    flights_.push_back({.deadline = deadline, .sent = std::move(next)});
  }
  flights_[flights_.size() - count].together = count;
  return good && pq_->end_transaction();
}

void Connection::look_again_locked() noexcept {
  const auto wanted = static_cast<short>(POLLIN | (pq_->blocked() ? POLLOUT : 0));
  if (interest_.exchange(wanted) != wanted) host_.changed(*this);
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

Instant Connection::wave_due_locked() const noexcept {
  if (flights_.empty()) return never;
  const Instant deadline = flights_.front().deadline;
  const bool second = !queued_.empty() && !pooled_.load() && first_wave_ == flights_.size();
  return second ? std::min(deadline, wave_sent_ + long_way) : deadline;
}

void Connection::receive() {
  suspect_.store(false);
  std::vector<Flight> done;
  std::vector<Call> dismissed;
  std::vector<std::string> news;
  {
    const std::lock_guard lock(mutex_);
    if (!pq_ || spoiled_.load()) return;
    bool good = (!pq_->blocked() || pq_->flush()) && pq_->receive();
    // What has arrived before the end counts.
    while (std::optional<Result> result = pq_->next()) {
      good = take_locked(std::move(*result), done) && good;
    }
    while (std::optional<std::string> payload = pq_->notification()) {
      news.push_back(std::move(*payload));
    }
    if (good) {
      heard_ = clock_->now();
      if (may_send_locked(heard_)) next_wave_locked(heard_, dismissed);
      look_again_locked();
    } else {
      spoiled_.store(true);
    }
  }
  for (const Flight& flight : done) user_.answered(flight.sent.call, *flight.result);
  for (const Call& call : dismissed) user_.dismissed(call);
  for (const std::string& payload : news) user_.notified(payload);
}

/// @return false: that is no result of what was sent
bool Connection::take_locked(Result result, std::vector<Flight>& done) {
  if (flights_.empty()) return false;
  const std::size_t together = flights_.front().together;
  if (result.kind() != Result::Kind::synced) {
    if (results_ < together) {
      flights_[results_++].result = std::move(result);
    } else if (result.kind() == Result::Kind::error) {
      flights_[together - 1].result = std::move(result);  // its end has failed
    }
    return true;
  }
  if (results_ < together) return false;
  results_ = 0;
  const auto end = std::next(flights_.begin(), static_cast<std::ptrdiff_t>(together));
  const bool failed = together > 1 && std::any_of(flights_.begin(), end, [](const Flight& flight) {
                        return flight.result->kind() != Result::Kind::rows;
                      });
  if (failed) {
    // None of it has happened. Whose fault it was comes out when each is asked alone.
    for (auto each = end; each-- != flights_.begin();) {
      each->sent.call.alone = true;
      queued_.push_front(std::move(each->sent));
    }
  } else {
    std::move(flights_.begin(), end, std::back_inserter(done));
    load_.fetch_sub(together);
  }
  flights_.erase(flights_.begin(), end);
  first_wave_ -= together;
  if (first_wave_ == 0) first_wave_ = flights_.size();
  return true;
}

// What waited may be wanted no more: in front of it goes the release of what it once asked for.
void Connection::next_wave_locked(Instant now, std::vector<Call>& dismissed) {
  std::erase_if(queued_, [&](Queued& queued) {
    if (!user_.withdrawn(queued.call)) return false;
    dismissed.push_back(std::move(queued.call));
    load_.fetch_sub(1);
    return true;
  });
  if (!queued_.empty()) send_wave_locked(now);
}

}  // namespace mortise::postgres
