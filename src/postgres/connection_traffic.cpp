// SPDX-License-Identifier: MIT
// The statements of a connection: sent by all threads, their results read by one at a time. Its
// life is in connection.cpp.
//
// They go in waves: what is asked for while a wave is under way leaves together when that has come
// back, or, where the server is far away, after a moment. The releases of a wave are one
// transaction, its takes and conclusions another one, so that many cost one flush of the server's
// log; whatever else there is has a transaction each. A statement that fails takes its transaction
// with it: the others of it are sent once more, each alone.
#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "postgres/connection.hpp"
#include "postgres/steps.hpp"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace mortise::postgres {
namespace {

// Statements of one wave, and of a transaction, whose rows stay locked until its end.
constexpr std::size_t most_together = 64;
// A wave that is under way for so long is worth a second one behind it, but not a third: each may
// cost the server a flush, one after the other.
constexpr std::chrono::milliseconds long_way{1};
// One that tells waits at commit for all others of the server that do: what comes meanwhile waits
// for another connection, for so long from then on.
constexpr std::chrono::milliseconds while_it_tells{500};
// Who was heard of so lately still stands.
constexpr std::chrono::milliseconds fresh{1};

}  // namespace

Connection::Sent Connection::send(Flights& one, Arguments arguments) {
  one.front().arguments = std::move(arguments);
  Flights dismissed;
  const Sent sent = queue(one, dismissed);
  for (const Flight& each : dismissed) user_.dismissed(each);
  return sent;
}

Connection::Sent Connection::queue(Flights& one, Flights& dismissed) {
  const Call& call = one.front();
  const Instant now = call.asked;  // just now
  const std::lock_guard lock(mutex_);
  if (!up() || !pq_) return Sent::refused;
  if (user_.withdrawn(call)) return Sent::withdrawn;
  used_.store(true);
  if (flights_.empty() && now - heard_ >= fresh && !pq_->stands()) {
    // Nobody has looked at it since the last answer: it may have gone long ago, and then not a byte
    // leaves, which is worth knowing.
    link_.mark_broken();
    host_.changed(*this);
    return Sent::refused;
  }
  load_.fetch_add(1);
  const bool alone = queued_.empty();
  queued_.splice(queued_.end(), one);
  if (!may_send_locked(now)) return Sent::sent;
  if (alone) {
    send_wave_locked(now);
  } else {
    next_wave_locked(now, dismissed);
  }
  return Sent::sent;
}

bool Connection::may_send_locked(Instant now) {
  if (queued_.empty() || link_.is_broken()) return false;
  if (stuck_.load()) return false;
  return flights_.empty() ||
         (!pooled_.load() && first_wave_ == flights_.size() && now >= second_wave_locked());
}

void Connection::send_wave_locked(Instant now) {
  wave_sent_ = now;
  bool good = prepare_keys_locked();
  Flights one;
  if (queued_.size() == 1 || pooled_.load()) {
    // A pooler hands its server on at the end of each transaction, whatever is under way to it.
    one.splice(one.end(), queued_, queued_.begin());
    good = send_together_locked(one) && good;
  } else {
    for (const Together kind : {Together::releases, Together::takes}) {
      Flights together = take_out_locked(kind);
      good = send_together_locked(together) && good;
    }
    Flights alone = take_out_locked(Together::none);
    // What is behind one that tells waits as long as that does.
    const auto tells_later = [](const Flight& each, const Flight& other) {
      return each.kind != Call::Kind::wake && other.kind == Call::Kind::wake;
    };
    if (!base::mutant("postgres.tells_before_others")) alone.sort(tells_later);
    while (!alone.empty()) {
      one.splice(one.end(), alone, alone.begin());
      good = send_together_locked(one) && good;
    }
  }
  if (first_wave_ == 0) first_wave_ = flights_.size();
  if (good && pq_->flush()) return look_again_locked();
  link_.mark_broken();
  host_.changed(*this);
}

Connection::Together Connection::shares(const Call& call) noexcept {
  if (call.alone) return Together::none;
  switch (call.kind) {
    case Call::Kind::release: return Together::releases;
    case Call::Kind::acquire:
    case Call::Kind::conclude: return Together::takes;  // both have to be on disk
    default: return Together::none;
  }
}

/// In front of the first wave that speaks of keys.
bool Connection::prepare_keys_locked() {
  const auto speaks_of_keys = [this](const Flight& each) { return statements_.of(each).later; };
  if (keys_ != Prepared::no || pooled_.load() ||
      std::none_of(queued_.begin(), queued_.end(), speaks_of_keys)) {
    return true;
  }
  // Where there is no memory for it they go with their text.
  Flights one;
  base::without_memory([&] { one.emplace_back(Call()); });
  if (one.empty()) return true;
  one.front().prepares = true;
  one.front().together = 1;
  one.front().leave(wave_sent_, peer_.round_trips);
  keys_ = Prepared::under_way;
  load_.fetch_add(1);
  flights_.splice(flights_.end(), one);
  bool good = true;
  for (const Statement& statement : statements_.all()) {
    if (!statement.later || statement.name.empty()) continue;
    good = good && pq_->prepare(statement.name.c_str(), statement.text, statement.like);
  }
  return good && pq_->run("SELECT 1") && pq_->end_transaction();
}

/// Takes what may share a transaction of that kind out of the queue; of none: what may share none.
Flights Connection::take_out_locked(Together kind) {
  Flights out;
  for (auto each = queued_.begin(); each != queued_.end() && out.size() < most_together;) {
    const auto next = std::next(each);
    if (shares(*each) == kind) out.splice(out.end(), queued_, each);
    each = next;
  }
  return out;
}

/// One transaction. It is under way from here on, also where it could not be sent.
bool Connection::send_together_locked(Flights& flights) {
  if (flights.empty()) return true;
  const bool pooled = pooled_.load();
  bool good = true;
  for (Flight& each : flights) {
    const Statement& statement = statements_.of(each);
    each.leave(wave_sent_, peer_.round_trips);
    each.clock = peer_.clock;
    if (statement.takes) {
      each.void_after =
          peer_.time.at(wave_sent_) + std::chrono::ceil<remote::ServerTime>(each.time);
      each.arguments.set_last(each.void_after);
    }
    const bool prepared =
        !pooled && !statement.name.empty() && (!statement.later || keys_ == Prepared::yes);
    good = good && (prepared ? pq_->run_prepared(statement.name.c_str(), each.arguments)
                             : pq_->run(statement.text, each.arguments));
  }
  flights.front().together = flights.size();
  flights_.splice(flights_.end(), flights);
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

/// When what is queued may go as a second wave, behind the one that is under way.
Instant Connection::second_wave_locked() const noexcept {
  const bool tells = !flights_.empty() && flights_.back().kind == Call::Kind::wake;
  return tells && !base::mutant("postgres.wait_behind_notify")
             ? queued_.front().asked + while_it_tells
             : wave_sent_ + long_way;
}

bool Connection::delays_close() const {
  if (!up()) return false;
  const auto takes = [](const Flight& flight) {
    return flight.kind == Call::Kind::acquire && flight.operation->done();
  };
  const auto tells_or_takes = [&](const Flight& flight) {
    return flight.kind == Call::Kind::wake || takes(flight);
  };
  const std::lock_guard lock(mutex_);
  return std::any_of(queued_.begin(), queued_.end(), tells_or_takes) ||
         std::any_of(flights_.begin(), flights_.end(), takes);
}

Flights Connection::take_waiting() noexcept {
  const std::lock_guard lock(mutex_);
  load_.fetch_sub(queued_.size());
  return std::exchange(queued_, {});
}

Instant Connection::deadline_locked() const noexcept {
  // Not of the first alone, which may have more patience than what waits behind it.
  Instant first = never;
  for (const Flight& flight : flights_) {
    first = std::min(first, peer_.round_trips.dead_at(flight.deadline, flight.left));
  }
  return first;
}

Instant Connection::wave_due_locked() const noexcept {
  if (flights_.empty()) return never;
  const Instant deadline = deadline_locked();
  const bool second = !queued_.empty() && !pooled_.load() && first_wave_ == flights_.size();
  return second ? std::min(deadline, second_wave_locked()) : deadline;
}

void Connection::receive() {
  link_.looked();
  Flights done;
  Flights dismissed;
  std::vector<std::string> news;
  const bool late = stuck_.load();  // changes in the reader's role only
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    if (!pq_ || link_.is_broken()) return;
    bool good = (!pq_->blocked() || pq_->flush()) && pq_->receive();
    // What has arrived before the end counts.
    while (std::optional<Result> result = pq_->next()) {
      good = take_locked(std::move(*result), done) && good;
    }
    // Where there is no memory for one, whoever it was for looks by time.
    bool more = true;
    while (more) {
      base::without_memory([&] {
        std::optional<std::string> payload = pq_->notification();
        more = payload.has_value();
        if (more) news.push_back(std::move(*payload));
      });
    }
    again = good && late && flights_.empty();
    if (again) stuck_.store(false);
    if (good) {
      heard_ = clock_->now();
      read_time_locked(done, late, heard_);
      if (may_send_locked(heard_)) next_wave_locked(heard_, dismissed);
      look_again_locked();
    } else {
      link_.mark_broken();
    }
  }
  const bool of_use = std::any_of(done.begin(), done.end(), [](const Flight& flight) {
    return flight.result && flight.result->kind() == Result::Kind::rows;
  });
  if (of_use || !news.empty()) link_.made_sense();
  // Each of them, whatever becomes of the one before: where there is no memory for what follows
  // from an answer, the others' still count.
  Steps steps;
  Flights untold;
  while (!done.empty()) {
    const Flight& flight = done.front();
    bool told = false;
    // Apart: what there is no memory for here must not keep an answer from counting as one.
    steps.make([&] { look_for_refusal(flight); });
    steps.make([&] {
      late ? user_.answered_late(flight, flight.result) : user_.answered(flight, *flight.result);
      told = true;
    });
    told ? done.pop_front() : untold.splice(untold.end(), done, done.begin());
  }
  for (const Flight& flight : dismissed) user_.dismissed(flight);
  if (!untold.empty()) user_.untold(std::move(untold));
  if (turned_away_) forsake();
  for (const std::string& payload : news) steps.make([&] { user_.notified(payload); });
  if (again) steps.make([&] { user_.connected(*this); });
  steps.rethrow();
  if (waits_for_what_tells()) user_.held_up();
}

/// Of the answers, the last one that has the server's clock; and one round trip for all of them.
void Connection::read_time_locked(const Flights& done, bool late, Instant now) noexcept {
  // A statement that notifies other clients may wait for their commits.
  const auto last = std::find_if(done.rbegin(), done.rend(),
                                 [](const Flight& each) { return each.kind != Call::Kind::wake; });
  if (last == done.rend()) return;
  // A server that stood still for longer is no slower than before.
  peer_.round_trips.answered(std::max(last->left, now - last->patience().longest), now);
  if (late) return;
  for (auto each = last; each != done.rend(); ++each) {
    if (!statements_.of(*each).tells_time || !each->result) continue;
    const std::optional<std::int64_t> clock = each->result->integer(0);
    if (each->result->kind() != Result::Kind::rows || !clock) continue;
    return peer_.time.read(each->left, server_time(*clock), now);
  }
}

// A primary that takes no writes any more, though it answers: one that was passed on by plan, or
// that a pooler in front of it has met again as a standby. Nothing else ends this connection.
void Connection::look_for_refusal(const Flight& flight) {
  if (!flight.result || flight.result->kind() != Result::Kind::error) return;
  ServerError error = server_error(route_.where(), flight.result->error());
  if (error.kind == ServerError::Kind::elsewhere) turned_away_ = std::move(error);
}

// Not before its user has heard the answers: what had to follow those may have come meanwhile.
bool Connection::waits_for_what_tells() const {
  if (load_.load() < 2 || link_.is_broken()) return false;
  const std::lock_guard lock(mutex_);
  return !queued_.empty() && !flights_.empty() && flights_.front().kind == Call::Kind::wake;
}

/// @return false: that is no result of what was sent
bool Connection::take_locked(Result result, Flights& done) {
  if (flights_.empty()) return false;
  const std::size_t together = flights_.front().together;
  const bool prepared = flights_.front().prepares && result.kind() == Result::Kind::rows;
  if (prepared && result.columns() == 0) return true;
  if (result.kind() != Result::Kind::synced) {
    if (results_ < together) {
      latest_ = results_++ == 0 ? flights_.begin() : std::next(latest_);
      latest_->result = std::move(result);
    } else if (result.kind() == Result::Kind::error) {
      latest_->result = std::move(result);  // the end of the transaction has failed
    }
    return true;
  }
  if (results_ < together) return false;
  results_ = 0;
  Flights over;
  over.splice(over.end(), flights_, flights_.begin(), std::next(latest_));
  const bool failed = std::any_of(over.begin(), over.end(), [](const Flight& flight) {
    return flight.result->kind() != Result::Kind::rows;
  });
  if (over.front().prepares) {
    keys_ = failed ? Prepared::no : Prepared::yes;
    load_.fetch_sub(1);
    over.clear();
  }
  // Committed here, and perhaps nowhere else: it is no answer. The same statements are, once a
  // standby has what they say: they find what they did, and their commit waits again.
  // A release waits for no standby, and is no promise.
  const bool in_doubt = pq_->commit_in_doubt() && !failed && !over.empty() &&
                        over.front().kind != Call::Kind::release &&
                        !base::mutant("postgres.cancelled_wait_counts_as_commit");
  if (over.empty()) {
    // Nobody asked for it.
  } else if (stuck_.load()) {
    // Asked once more elsewhere, long ago.
    load_.fetch_sub(together);
    for (Flight& each : over) {
      if (failed) each.result.reset();
    }
    done.splice(done.end(), over);
  } else if (in_doubt || (failed && together > 1)) {
    // Or none of it has happened. Whose fault it was comes out when each is asked alone.
    for (Flight& each : over) {
      each.alone = each.alone || failed;
      each.executed = each.executed || in_doubt;
      each.result.reset();
    }
    queued_.splice(queued_.begin(), over);
  } else {
    load_.fetch_sub(together);
    done.splice(done.end(), over);
  }
  first_wave_ -= together;
  if (first_wave_ == 0) first_wave_ = flights_.size();
  return true;
}

// What waited may be wanted no more: in front of it goes the release of what it once asked for.
void Connection::next_wave_locked(Instant now, Flights& dismissed) {
  for (auto each = queued_.begin(); each != queued_.end();) {
    const auto next = std::next(each);
    if (user_.withdrawn(*each)) {
      dismissed.splice(dismissed.end(), queued_, each);
      load_.fetch_sub(1);
    }
    each = next;
  }
  if (!queued_.empty()) send_wave_locked(now);
}

}  // namespace mortise::postgres
