// SPDX-License-Identifier: MIT
#include "postgres/waves.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"

#include <iterator>
#include <utility>

namespace mortise::postgres {
namespace {

// Statements of one wave, and of a transaction, whose rows stay locked until its end.
constexpr std::size_t most_together = 64;
// A wave that is under way for so long is worth a second one behind it, but not a third: each may
// cost the server a flush, one after the other.
constexpr std::chrono::milliseconds long_way{1};
// At commit, a notification waits for all other notifications of the server. For this time, calls
// that come in the meantime wait for another connection.
constexpr std::chrono::milliseconds while_it_notifies{500};
// A server that answered so lately still stands.
constexpr std::chrono::milliseconds fresh{1};

bool is_notification(const Flight& flight) { return flight.kind == Call::Kind::wake; }

}  // namespace

bool Waves::stands(Instant now) const {
  return !flights_.empty() || now - heard_ < fresh || pq_->stands();
}

bool Waves::add(Flights& one) {
  queued_.splice(queued_.end(), one);
  return queued_.size() == 1;
}

bool Waves::may_send(Instant now) const noexcept {
  if (queued_.empty()) return false;
  if (flights_.empty()) return true;
  return !peer_.is_pooled && first_wave_ == flights_.size() && now >= second_wave();
}

bool Waves::send(Instant now) {
  if (queued_.empty()) return true;
  sent_ = now;
  bool good = prepare_keys();
  Flights one;
  if (queued_.size() == 1 || peer_.is_pooled) {
    // A pooler hands its server on at the end of each transaction, whatever is under way to it.
    one.splice(one.end(), queued_, queued_.begin());
    good = send_together(one) && good;
  } else {
    for (const Together kind : {Together::releases, Together::takes}) {
      Flights together = take_out(kind);
      good = send_together(together) && good;
    }
    Flights alone = take_out(Together::none);
    // A call behind a notification waits as long as the notification does.
    const auto notifies_later = [](const Flight& each, const Flight& other) {
      return !is_notification(each) && is_notification(other);
    };
    if (!base::mutant("postgres.tells_before_others")) alone.sort(notifies_later);
    while (!alone.empty()) {
      one.splice(one.end(), alone, alone.begin());
      good = send_together(one) && good;
    }
  }
  if (first_wave_ == 0) first_wave_ = flights_.size();
  return good && pq_->flush();
}

Waves::Together Waves::shares(const Flight& call) noexcept {
  if (call.alone) return Together::none;
  switch (call.kind) {
    case Call::Kind::release: return Together::releases;
    case Call::Kind::acquire:
    case Call::Kind::conclude: return Together::takes;  // both have to be on disk
    default: return Together::none;
  }
}

/// In front of the first wave that speaks of keys.
bool Waves::prepare_keys() {
  const auto speaks_of_keys = [this](const Flight& each) { return statements_.of(each).later; };
  if (keys_ != Prepared::no || peer_.is_pooled ||
      std::none_of(queued_.begin(), queued_.end(), speaks_of_keys)) {
    return true;
  }
  // If there is no memory for it they go with their text.
  Flights one;
  base::without_memory([&] { one.emplace_back(Call()); });
  if (one.empty()) return true;
  one.front().prepares = true;
  one.front().together = 1;
  one.front().leave(sent_, peer_.round_trips);
  keys_ = Prepared::under_way;
  flights_.splice(flights_.end(), one);
  bool good = true;
  for (const Statement& statement : statements_.all()) {
    if (!statement.later || statement.name.empty()) continue;
    good = good && pq_->prepare(statement.name.c_str(), statement.text, statement.like);
  }
  return good && pq_->run("SELECT 1") && pq_->end_transaction();
}

/// Takes the calls that may share a transaction of that kind out of the queue; of kind `none`, the
/// calls that share none.
Flights Waves::take_out(Together kind) {
  Flights out;
  for (auto each = queued_.begin(); each != queued_.end() && out.size() < most_together;) {
    const auto next = std::next(each);
    if (shares(*each) == kind) out.splice(out.end(), queued_, each);
    each = next;
  }
  return out;
}

/// One transaction. It is under way from here on, even if it could not be sent.
bool Waves::send_together(Flights& flights) {
  if (flights.empty()) return true;
  bool good = true;
  for (Flight& each : flights) {
    const Statement& statement = statements_.of(each);
    each.leave(sent_, peer_.round_trips);
    each.passage.clock = peer_.clock;
    if (statement.takes) {
      each.passage.void_time = remote::VoidTime::from(peer_.time, sent_, each.passage.void_time.in);
      each.arguments.set_last(each.passage.void_time.after);
    }
    const bool is_prepared =
        !peer_.is_pooled && !statement.name.empty() && (!statement.later || keys_ == Prepared::yes);
    good = good && (is_prepared ? pq_->run_prepared(statement.name.c_str(), each.arguments)
                                : pq_->run(statement.text, each.arguments));
  }
  flights.front().together = flights.size();
  flights_.splice(flights_.end(), flights);
  return good && pq_->end_transaction();
}

/// When what is queued may go as a second wave, behind the one that is under way.
Instant Waves::second_wave() const noexcept {
  const bool notifies = !flights_.empty() && is_notification(flights_.back());
  return notifies && !base::mutant("postgres.wait_behind_notify")
             ? queued_.front().asked + while_it_notifies
             : sent_ + long_way;
}

bool Waves::delays_close() const {
  const auto takes = [](const Flight& flight) {
    return flight.kind == Call::Kind::acquire && flight.operation->done();
  };
  const auto notifies_or_takes = [&](const Flight& flight) {
    return is_notification(flight) || takes(flight);
  };
  return std::any_of(queued_.begin(), queued_.end(), notifies_or_takes) ||
         std::any_of(flights_.begin(), flights_.end(), takes);
}

bool Waves::waits_for_a_notification() const noexcept {
  return !queued_.empty() && !flights_.empty() && is_notification(flights_.front());
}

Instant Waves::deadline() const noexcept {
  // Of all calls: the first one may have more patience than a call behind it.
  Instant first = never;
  for (const Flight& flight : flights_) {
    first = std::min(first, peer_.round_trips.dead_at(flight.deadline, flight.passage.left));
  }
  return first;
}

Instant Waves::due() const noexcept {
  if (flights_.empty()) return never;
  const bool second = !queued_.empty() && !peer_.is_pooled && first_wave_ == flights_.size();
  return second ? std::min(deadline(), second_wave()) : deadline();
}

bool Waves::receive(bool is_late, Flights& done) {
  bool good = (!pq_->blocked() || pq_->flush()) && pq_->receive();
  // A result that arrived before the end counts.
  while (std::optional<Result> result = pq_->next()) {
    good = take(std::move(*result), is_late, done) && good;
  }
  return good;
}

/// Of the answers, the last one that has the server's clock; and one round trip for all of them.
void Waves::heard(const Flights& done, bool is_late, Instant now) noexcept {
  heard_ = now;
  // A statement that notifies other clients may wait for their commits.
  const auto last = std::find_if_not(done.rbegin(), done.rend(), is_notification);
  if (last == done.rend()) return;
  // A server that stood still for longer is no slower than before.
  peer_.round_trips.answered(std::max(last->passage.left, now - last->patience().longest), now);
  if (is_late) return;
  for (auto each = last; each != done.rend(); ++each) {
    if (!statements_.of(*each).tells_time || !each->result) continue;
    const std::optional<std::int64_t> clock = each->result->integer(0);
    if (each->result->kind() != Result::Kind::rows || !clock) continue;
    return peer_.time.read(each->passage.left, server_time(*clock), now);
  }
}

/// @return false: the result belongs to no statement that was sent
bool Waves::take(Result result, bool is_late, Flights& done) {
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
  first_wave_ -= together;
  take_transaction(is_late, done);
  if (first_wave_ == 0) first_wave_ = flights_.size();
  return true;
}

/// The first transaction is over.
void Waves::take_transaction(bool is_late, Flights& done) {
  Flights over;
  over.splice(over.end(), flights_, flights_.begin(), std::next(latest_));
  const bool failed = std::any_of(over.begin(), over.end(), [](const Flight& flight) {
    return flight.result->kind() != Result::Kind::rows;
  });
  if (over.front().prepares) {
    keys_ = failed ? Prepared::no : Prepared::yes;
    return;
  }
  // The statements are committed at this server, and perhaps at no standby, so this is not an
  // answer. They are sent again, find their own effects, and their commit waits for a standby
  // again. A release waits for no standby, because it promises nothing.
  const bool in_doubt = pq_->commit_in_doubt() && !failed &&
                        over.front().kind != Call::Kind::release &&
                        !base::mutant("postgres.cancelled_wait_counts_as_commit");
  const bool is_once_more = in_doubt || (failed && over.size() > 1);
  if (!is_late && is_once_more) {
    // The server may also have executed no call of the wave. Each call is sent alone now, which
    // shows the call that failed.
    for (Flight& each : over) {
      each.alone = each.alone || failed;
      each.executed = each.executed || in_doubt;
      each.result.reset();
    }
    queued_.splice(queued_.begin(), over);
    return;
  }
  // A late call was sent again by another connection long ago.
  if (is_late && failed) {
    for (Flight& each : over) each.result.reset();
  }
  done.splice(done.end(), over);
}

void Waves::get_stuck(Flights& unanswered, Flights& unsent) {
  // First: all of it, or nothing if there is no memory.
  for (const Flight& flight : flights_) {
    if (!flight.prepares) unanswered.push_back(flight);
  }
  unsent = take_waiting(is_notification);
  unanswered.splice(unanswered.end(), queued_);
}

Flights Waves::end(bool is_late) noexcept {
  if (is_late) flights_.clear();
  Flights all = std::exchange(flights_, {});
  all.remove_if([](const Flight& each) { return each.prepares; });
  all.splice(all.end(), queued_);
  for (Flight& each : all) each.result.reset();
  keys_ = Prepared::no;
  results_ = 0;
  first_wave_ = 0;
  return all;
}

std::optional<ServerError> Waves::last_words(const std::string& where) const {
  for (const Flight& flight : flights_) {
    if (!flight.result || flight.result->kind() != Result::Kind::error) continue;
    ServerError error = server_error(where, flight.result->error());
    if (error.kind == ServerError::Kind::elsewhere) return error;
  }
  return std::nullopt;
}

}  // namespace mortise::postgres
