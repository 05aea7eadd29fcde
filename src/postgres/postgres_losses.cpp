// SPDX-License-Identifier: MIT
// What a connection that broke, or stands still, leaves behind: nothing of it is forgotten, also
// where there is no memory for a part of that.
#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "postgres/postgres_backend.hpp"
#include "postgres/steps.hpp"

#include <set>
#include <utility>

namespace mortise::postgres {
namespace {

// As in the outbox: of one operation a call of each kind is made once more, however often the
// library has asked for it while nobody answered. Where there is no memory for that, each is.
void leave_one_of_each(Flights& calls) {
  if (calls.size() < 2 || base::mutant("postgres.repeats_each_copy")) return;
  base::without_memory([&] {
    std::set<std::pair<const Operation*, Call::Kind>> seen;
    calls.remove_if([&](const Flight& each) {
      // What was executed once must come to an answer that counts.
      return !each.executed && !seen.emplace(each.operation.get(), each.kind).second;
    });
  });
}

}  // namespace

void PostgresBackend::dropped(Connection& connection, const ServerError& why, bool was_up,
                              Flights unanswered) {
  if (stopped_.load()) return;
  Steps steps;
  // What is stuck may go on, and is watched as before.
  if (!pool_->stands()) name_watch_->end();
  const Connection* ringing = &connection;
  if (ringing_.compare_exchange_strong(ringing, nullptr)) {
    steps.make([this] { wake(bell_.told()); });
  }
  if (pool_->has(connection)) {
    steps.make([&] { lost_commands(why, was_up, std::move(unanswered)); });
  } else {
    lost_listener(why);
    // Whatever broke it may have broken the others, which nobody may be looking at.
    if (was_up) pool_->suspect();
  }
  steps.rethrow();
}

void PostgresBackend::stuck(Connection& connection, const ServerError& why, Flights unanswered,
                            Flights unsent) {
  if (stopped_.load()) return;
  Steps steps;
  for (const Call& call : unsent) not_sent(call);
  if (base::mutant("postgres.forget_names_that_were_not_sent")) unsent.clear();
  steps.make([&] { resubmit_all(std::move(unsent)); });
  for (const Call& call : unanswered) {
    if (call.kind == Call::Kind::wake) {
      // Another one would be as long in coming. It is answered late, or lost with the connection.
      pool_->done(call);
      ringing_.store(&connection);
      continue;
    }
    const AttemptId* const attempt = call.attempt();
    if (attempt == nullptr) continue;
    const std::lock_guard lock(mutex_);
    of_client_ = *attempt;
  }
  unanswered.remove_if([](const Call& call) { return call.kind == Call::Kind::wake; });
  steps.make([&] { lost_commands(why, true, std::move(unanswered)); });
  steps.make([this] { tidy_later(); });
  steps.rethrow();
}

// A late answer never grants: only the answer to a later request does. If no caller wants the hold
// any more, the late answer is the first to report the hold.
void PostgresBackend::answered_late(const Call& call, const std::optional<Result>& result) {
  if (stopped_.load()) return;
  if (!result && base::mutant("postgres.late_refusals_are_no_answers")) return;
  if (call.kind == Call::Kind::wake) {
    // Also where somebody has cancelled it: until it is answered no other one is sent.
    ringing_.store(nullptr);
    return wake(bell_.told());
  }
  if (call.kind != Call::Kind::acquire || !result) return;
  const std::optional<Answer> answer = Answer::of(*result);
  const bool granted = answer && answer->kind == Answer::Kind::granted;
  if (!granted && !(answer && answer->kind == Answer::Kind::late)) return;
  Acquisition& operation = call.acquisition();
  if (!operation.done()) {
    return ask(call.shared_acquisition());
  }
  if (!granted) return;
  // Where it was cancelled that is repeated until it finds the hold: this only is sooner.
  if (operation.grant().number != answer->number) give_back(operation, answer->number);
}

void PostgresBackend::note_unanswered(Flights& calls) noexcept {
  const Instant now = clock_->now();
  for (Call& call : calls) {
    const bool left = call.left != Instant{};
    if (call.kind == Call::Kind::acquire && !left) {
      attempts_.not_sent(*call.attempt());
    } else if (call.kind == Call::Kind::acquire) {
      attempts_.unanswered(call.shared_acquisition(), call.void_moment(now),
                           call.left + call.time + remote::VoidMoment::a_moment);
    } else if (left && (call.kind == Call::Kind::release || call.kind == Call::Kind::conclude)) {
      note_lost_release(call);
    } else if (call.kind == Call::Kind::force) {
      call.executed = true;  // perhaps
    }
    pool_->done(call);
  }
  if (attempts_.next_look() != never) host_->changed(later_);
}

/// It may have been executed.
void PostgresBackend::note_lost_release(Call& call) noexcept {
  // The attempt of a hold that no caller wants may have another hold, or none.
  if (call.is_own()) call.executed = true;
  attempts_.release_lost(call.release().hold(), clock_->now());
}

void PostgresBackend::lost_commands(const ServerError& why, bool was_up, Flights unanswered) {
  note_unanswered(unanswered);
  const Instant now = clock_->now();
  const bool others = pool_->up();
  Steps steps;
  if (!others) {
    const std::lock_guard lock(mutex_);
    steps.make([&] { no_server_ = why.failure; });
    unanswered.splice(unanswered.end(), outbox_.take());
  }
  leave_one_of_each(unanswered);
  const bool final = why.kind == ServerError::Kind::final && !others;
  // A connection that was up is up again at once, as a rule.
  const bool once_more = others || (was_up && !final && !pool_->all_stuck());
  while (!unanswered.empty()) {
    Flights alone;
    alone.splice(alone.begin(), unanswered, unanswered.begin());
    const Call& call = alone.front();
    bool stays = !is_over(call, now);
    steps.make([&] {
      if (stays) stays = !leaves(call, why.failure, final, once_more);
      if (stays && !others) call.operation->trouble(why.failure);
    });
    if (stays) steps.make([&] { resubmit_all(std::move(alone)); });
  }
  if (!others) {
    steps.make([&] { tell_who_waits(why.failure, final); });
    // Its looks were dropped, and begin again with the next connection.
    if (attempts_.is_any_pending(now)) steps.make([this] { pool_->want(false); });
  } else {
    steps.make([this] { look_at_lost(); });
  }
  steps.rethrow();
}

/// There is a connection: looks for the holds of lost requests.
void PostgresBackend::look_at_lost() {
  Steps steps;
  for (const auto& operation : attempts_.begin_looks(clock_->now(), true)) {
    steps.make([&] { take_back(operation); });
  }
  steps.rethrow();
}

/// Its connection was lost. @param once_more another connection will answer soon
/// @return false: it is sent again
bool PostgresBackend::leaves(const Call& call, const Failure& why, bool final, bool once_more) {
  switch (remote::fate_of_lost(call.purpose(), final, once_more)) {
    case remote::Fate::fail: fail(call, why); return true;
    case remote::Fate::unanswered:
      call.operation->trouble(why);
      call.renewal().answered();
      return true;
    // This loss concerns only attempts that have asked. Notifications wake the others, of which
    // there may be thousands.
    case remote::Fate::drop:
      if (call.purpose() == remote::Purpose::look) attempts_.look_failed(*call.attempt());
      return call.purpose() != remote::Purpose::take;
    default:
      return final && call.kind == Call::Kind::wake &&
             base::mutant("postgres.forget_to_wake_after_a_refusal");
  }
}

// Each of them: what nobody was told of is asked for again by the library, and told then. As if no
// answer had come: what was executed is found when it is asked for once more.
void PostgresBackend::untold(Flights answered) noexcept {
  if (stopped_.load()) return;
  while (!answered.empty()) {
    Flights alone;
    alone.splice(alone.begin(), answered, answered.begin());
    Flight& flight = alone.front();
    if (flight.kind == Call::Kind::wake) continue;  // of what was freed since the next one tells
    if (flight.kind == Call::Kind::release || flight.kind == Call::Kind::conclude) {
      note_lost_release(flight);
    } else if (flight.kind == Call::Kind::acquire) {
      attempts_.not_read(*flight.attempt());
      if (flight.operation->done()) {
        // It may have been granted what nobody wants any more, and could not be given back.
        attempts_.may_hold(flight.shared_acquisition(), flight.void_moment(clock_->now()));
        flight.kind = Call::Kind::cancel;
      }
    }
    keep(std::move(alone));
  }
}

/// No connection is up. @param final whether asking again cannot help
void PostgresBackend::tell_who_waits(const Failure& why, bool final) {
  Steps steps;
  for (const auto& operation : attempts_.undecided()) {
    steps.make([&] {
      if (final) {
        operation->failed(why);
        return over(operation->request().attempt);
      }
      pool_->want(false);
      operation->trouble(why);
    });
  }
  steps.rethrow();
}

}  // namespace mortise::postgres
