// SPDX-License-Identifier: MIT
// What the server says, and what that makes of requests: the other half of PostgresBackend.
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "postgres/postgres_backend.hpp"
#include "postgres/steps.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <utility>

namespace mortise::postgres {
namespace {

// Who waits looks again this long after the holder's lease has ended.
constexpr std::chrono::milliseconds after_the_end{2};
constexpr std::string_view lock_timed_out = "55P03";
// What a notification about a key begins with: see tell_run() of once_conclude.sql.
constexpr std::string_view of_a_key = "key ";
// The same of a semaphore: see tell() of share.sql.
constexpr std::string_view of_a_permit = "permit ";

}  // namespace

void PostgresBackend::connected(Connection& connection) {
  hearing_.store(connection.pooled() ? Hearing::pooled : Hearing::possible);
  if (pool_->has(connection)) {
    {
      const std::lock_guard lock(mutex_);
      no_server_ = Failure{};
    }
    Steps steps;
    steps.make([&] { connection.watch(*name_watch_); });
    steps.make([this] { tidy_later(); });
    steps.make([this] { relieve(); });
    steps.make([this] { submit_outbox(); });
    steps.make([this] { look_at_lost(); });
    return steps.rethrow();
  }
  listening_.store(true);
  tidy_later();
  // Nothing was told while nobody listened.
  for (const auto& operation : attempts_.undecided()) {
    const Acquisition::Request& request = operation->request();
    if (request.wait && attempts_.told(request.attempt)) ask(operation);
  }
}

void PostgresBackend::replaced() {
  pool_->forsake_outdated();
  if (Connection* const listener = listener_.load()) listener->forsake_outdated();
}

// Those who connect from now on are led to another server. What is held at the old one is lost, if
// the new one does not know it.
void PostgresBackend::name_moved() {
  pool_->forsake_all();
  Connection* const listener = listener_.load();
  if (listener != nullptr && listener->up()) listener->forsake();
}

void PostgresBackend::notified(const std::string& payload) {
  std::string_view words(payload);
  const bool key = words.starts_with(of_a_key);
  if (key) words.remove_prefix(of_a_key.size());
  const bool permit = words.starts_with(of_a_permit);
  if (permit) words.remove_prefix(of_a_permit.size());
  const std::size_t space = words.find(' ');
  const std::string_view first =
      space == std::string_view::npos ? std::string_view() : words.substr(space + 1);
  const std::string name = bytes_of(words.substr(0, space));
  if (base::mutant("postgres.ignore_notifications")) return;
  for (const auto& operation : attempts_.waiting(name, bytes_of(first))) {
    const Mode mode = operation->request().mode;
    if ((mode == Mode::once) != key || (mode == Mode::permit) != permit) continue;
    if (attempts_.told(operation->request().attempt)) ask(operation);
  }
}

void PostgresBackend::answered(const Call& call, const Result& result) {
  pool_->done(call);
  if (result.kind() != Result::Kind::rows) {
    // Before it counts as answered: whoever takes it back just now must know that it may have been
    // granted.
    if (in_doubt(call))
      attempts_.may_hold(call.shared_acquisition(), call.void_moment(clock_->now()));
    if (call.kind == Call::Kind::acquire) attempts_.answered(call.shared_acquisition(), false);
    return refused(call, result.error());
  }
  switch (call.kind) {
    case Call::Kind::acquire:
    case Call::Kind::cancel: return answered_attempt(call, Answer::of(result));
    case Call::Kind::release:
    case Call::Kind::conclude: {
      const std::optional<ReleaseOutcome> outcome = release_outcome(result);
      return outcome ? answered_release(call, *outcome) : nonsense(call);
    }
    case Call::Kind::renew: return answered_renewal(call, result);
    case Call::Kind::force: return answered_force(call, result);
    case Call::Kind::inspect: {
      auto holder = holder_of(result);
      if (!holder) return nonsense(call);
      return call.inspection().answered(std::move(*holder));
    }
    case Call::Kind::recall: return answered_recall(call, result);
    case Call::Kind::check: return answered_check(call, result);
    case Call::Kind::census: {
      const auto living = numbers_of(result);
      if (!living) return nonsense(call);
      return pool_->keep_stuck(static_cast<const Census&>(*call.operation).processes, *living);
    }
    case Call::Kind::wake: return wake(bell_.told());
    case Call::Kind::list: return answered_list(call, result);
    case Call::Kind::queue: return answered_queue(call, result);
  }
}

void PostgresBackend::refused(const Call& call, const PqError& error) {
  const ServerError meaning = server_error(where_, error);
  if (call.kind == Call::Kind::wake) return wake(bell_.told());  // who waits looks by time
  const bool final = meaning.kind == ServerError::Kind::final;
  // A forced release is repeated until its caller's time is over.
  const bool is_repeated = call.kind == Call::Kind::force && !final;
  const remote::Fate fate =
      is_repeated ? remote::Fate::later : remote::fate_of_refused(call.purpose(), final);
  if (error.state == lock_timed_out && fate != remote::Fate::fail) {
    // A lock was only waited for too long: see sql/take.sql.
    call.operation->trouble(meaning.failure);
    again_soon(call);
  } else if (fate == remote::Fate::fail) {
    fail(call, meaning.failure);
  } else {
    not_done(call, meaning.failure, fate);
  }
  if (meaning.kind == ServerError::Kind::elsewhere) pool_->suspect();
}

// It was granted, perhaps, by a commit that was in doubt.
bool PostgresBackend::in_doubt(const Call& call) {
  return call.kind == Call::Kind::acquire && call.executed &&
         !base::mutant("postgres.forget_what_was_in_doubt_before_it_failed");
}

void PostgresBackend::fail(const Call& call, const Failure& why) {
  const bool looks = call.kind == Call::Kind::cancel && call.operation->done();
  call.operation->failed(why);
  if (call.kind != Call::Kind::acquire && call.kind != Call::Kind::cancel) return;
  // The next look would fail as well, and close() would wait for it.
  if (looks) attempts_.give_up(*call.attempt());
  // A statement that failed has no effect. The client now looks for a hold that another statement
  // of the attempt may have taken.
  over(*call.attempt());
}

void PostgresBackend::nonsense(const Call& call) {
  const Failure why(Errc::protocol, where_ + ": the server sent an invalid reply");
  if (remote::fate_of_misread(call.purpose()) == remote::Fate::fail) {
    if (call.kind == Call::Kind::acquire) {  // whatever was meant
      attempts_.may_hold(call.shared_acquisition(), call.void_moment(clock_->now()));
    }
    return fail(call, why);
  }
  // It may not have been executed, and no other request would free that: it is as if no answer had
  // come. This connection is kept, so it is sent again after a pause.
  Call lost = call;
  if (call.purpose() != remote::Purpose::cancel && call.purpose() != remote::Purpose::look) {
    note_lost_release(lost);
  }
  not_done(lost, why, call.is_own() ? remote::Fate::later : remote::Fate::report);
}

/// The library repeats it, or only the client does.
void PostgresBackend::not_done(const Call& call, const Failure& why, remote::Fate fate) {
  call.operation->trouble(why);
  if (fate != remote::Fate::later) return;
  Call next = call;
  ++next.in_vain;
  again_at(next, clock_->now() + next_look(call.in_vain + 4));
}

void PostgresBackend::answered_attempt(const Call& call, std::optional<Answer> read) {
  Acquisition& operation = call.acquisition();
  const Acquisition::Request& request = operation.request();
  // Of a semaphore's holders each has a permit.
  if (read && read->holder && request.mode == Mode::permit) read->holder->mode = Mode::permit;
  // A writer keeps readers out while it waits: see mortise.take_row() of sql/take_row.sql.
  const bool keeps_readers_out =
      read && read->holder && read->holder->mode == Mode::shared && request.mode == Mode::exclusive;
  const bool stays =
      call.executed || !read || read->kind == Answer::Kind::granted || keeps_readers_out;
  // An attempt that is being cancelled waits for the answer to its cancel.
  const bool is_over =
      call.kind == Call::Kind::acquire && attempts_.answered(call.shared_acquisition(), stays);
  if (!read) return nonsense(call);
  const Answer& answer = *read;
  if (answer.for_others) ring(request.mode, request.name);
  // A look shows more than the cancel of an undecided attempt: see mortise.cancel_key().
  const bool is_final =
      call.kind == Call::Kind::acquire || request.mode != Mode::once || operation.done();
  if (is_final && answer.kind != Answer::Kind::locked && answer.kind != Answer::Kind::late) {
    attempts_.executed(request.attempt, answer.at, call.clock, clock_->now());
  }
  if (answer.kind != Answer::Kind::granted) {
    if (is_over) return;
    if (answer.kind == Answer::Kind::late) {
      // By the reading of the clock that came with the answer.
      Flights again;
      again.emplace_back(call);
      return resubmit(again);
    }
    if (call.kind == Call::Kind::acquire) {
      const bool wait = request.wait && !attempts_.asks_last(request.attempt);
      const bool ends = answer.kind == Answer::Kind::told || answer.kind == Answer::Kind::differs;
      if (wait && !ends) return waits(call, answer);
      // It may be a lost request of its own that has the row, and waits for its commit.
      const bool itself = answer.kind == Answer::Kind::locked &&
                          attempts_.is_in_doubt(request.attempt) &&
                          !base::mutant("postgres.row_of_own_copy_is_busy");
      if (itself && !operation.done()) return again_soon(call);
    } else if (answer.kind == Answer::Kind::locked) {
      return again_soon(call);
    }
    if (answer.record) {
      operation.recorded(answer.record);
    } else if (answer.kind == Answer::Kind::differs) {
      operation.failed({Errc::misconfigured,
                        request.name + ": the store has " + std::to_string(answer.permits) +
                            " permits, but this client asks for " +
                            std::to_string(request.permits) + "; use one number in all clients"});
    } else {
      operation.busy(answer.holder ? answer.holder : operation.holder());
    }
    return over(request.attempt);
  }
  const std::chrono::nanoseconds age =
      base::mutant("postgres.old_grant_counts_as_new") ? std::chrono::microseconds(0) : answer.age;
  const Instant asked = base::mutant("postgres.deadline_from_reply") ? clock_->now() : call.asked;
  const Grant grant{.number = answer.number,
                    .counted_from = asked - age - age * core::drift_permille / 1000,
                    .lease = answer.lease.count() > 0 ? answer.lease : request.lease,
                    .run = answer.run};
  const std::uint64_t noted =
      attempts_.held(request.attempt, grant.number, call.asked, grant.counted_from + grant.lease);
  operation.granted(grant);
  // Where another thread completes it at this moment, its result can be read only afterwards.
  while (!operation.done()) std::this_thread::yield();
  attempts_.took(operation, noted);
  if (attempts_.next_look() != never) host_->changed(later_);
  if (base::mutant("postgres.keep_grant_of_ended_call")) return;
  if (operation.grant().number != answer.number) give_back(operation, answer.number);
}

void PostgresBackend::waits(const Call& call, const Answer& answer) {
  Acquisition& operation = call.acquisition();
  const AttemptId& attempt = operation.request().attempt;
  if (operation.done()) return over(attempt);
  operation.queued(answer.holder);
  if (attempts_.told_meanwhile(attempt)) return ask(call.shared_acquisition());
  const Hearing hearing = hearing_.load();
  if (hearing == Hearing::possible && !deaf()) open_listener(attempt);
  const bool told = answer.kind == Answer::Kind::held && listening_.load();
  using enum Waiter::InVain;
  const bool row_locked = answer.kind == Answer::Kind::locked;
  const unsigned in_vain = attempts_.looked_in_vain(attempt, told         ? told_later
                                                             : row_locked ? locked
                                                                          : held);
  Instant when = told ? never : clock_->now() + next_look(in_vain);
  if (answer.kind == Answer::Kind::held && answer.left < core::fallback_period) {
    when = std::min(when, call.asked + answer.left + after_the_end);
  }
  if (when != never) again_at(call, when);
}

void PostgresBackend::answered_release(const Call& call, ReleaseOutcome outcome) {
  Release& release = call.release();
  const bool others = outcome == ReleaseOutcome::freed_for_others ||
                      outcome == ReleaseOutcome::lapsed_for_others ||
                      outcome == ReleaseOutcome::not_ours_for_others ||
                      outcome == ReleaseOutcome::stands_for_others;
  // What has freed nothing has not looked who waits.
  const bool looked =
      others || outcome == ReleaseOutcome::freed || outcome == ReleaseOutcome::lapsed;
  if (looked && is_lock(release.hold().mode)) contested_.freed(release.hold().name, others);
  const std::shared_ptr<const Conclusion>& conclusion = release.conclusion();
  const bool writes_itself = conclusion && conclusion->written;
  // What stands instead is that one; of the same state it would have been confirmed.
  const bool its_own = writes_itself && conclusion->written->state != conclusion->state;
  // By a copy that was not answered, or by a commit that was in doubt.
  const bool before =
      outcome != ReleaseOutcome::locked && (attempts_.released(release.hold()) || call.executed);
  // The copy of which no answer came may have said that others wait.
  const bool untold =
      before && (outcome == ReleaseOutcome::freed_before || outcome == ReleaseOutcome::stands);
  // First: a program may end as soon as it is answered.
  if (others || untold) ring(release.hold().mode, release.hold().name);
  switch (outcome) {
    case ReleaseOutcome::freed:
    case ReleaseOutcome::freed_for_others: release.answered(Released::released); break;
    case ReleaseOutcome::freed_before:
      // Of what was concluded the record speaks.
      release.answered(before || conclusion ? Released::released : Released::was_lost);
      break;
    case ReleaseOutcome::lapsed:
    case ReleaseOutcome::lapsed_for_others: release.answered(Released::was_lost); break;
    case ReleaseOutcome::stands:
    case ReleaseOutcome::stands_for_others:
      if (its_own) {
        release.stands();
      } else {
        release.failed({Errc::in_doubt, where_ + ": another outcome of the run is recorded"});
      }
      break;
    case ReleaseOutcome::not_ours:
    case ReleaseOutcome::not_ours_for_others:
      if (writes_itself) {
        // It may have been committed, and forgotten since, or replaced by a later run.
        release.failed(
            {Errc::in_doubt,
             where_ +
                 ": the run's outcome is not recorded; it may have been forgotten or replaced"});
        break;
      }
      // The copy of which no answer came may have freed it, and somebody else have taken it since.
      release.answered(before ? Released::unknown : Released::was_lost);
      break;
    case ReleaseOutcome::locked:
      if (!release.done()) again_soon(call);
      break;
  }
  // Then: where there is no memory for that, the hold was released all the same, and a copy of its
  // release would find nothing.
  let_others_ask(call, outcome, others);
}

void PostgresBackend::answered_recall(const Call& call, const Result& result) {
  const std::optional<Recalled> recalled = Recalled::of(result);
  if (!recalled) return nonsense(call);
  if (call.operation->done()) return;
  if (recalled->locked) {
    Call again = call;
    if (again.forgotten > 0) --again.forgotten;  // nothing has happened
    return again_soon(again);
  }
  const Record& found = *recalled->record;
  if ((call.forgotten > 1 || call.executed) && found.state != KeyState::absent &&
      static_cast<std::int64_t>(found.number) != std::abs(call.forgets)) {
    return call.operation->failed(
        {Errc::in_doubt,
         where_ +
             ": the reply was lost, and the key runs again; the first try may have forgotten it"});
  }
  const bool forgets = call.recollection().kind() == Recollection::Kind::forget &&
                       found.state != KeyState::absent && !found.held;
  if (!forgets || recalled->what() == call.forgets) {
    return call.recollection().answered(recalled->record);
  }
  // Of that run as it is, and of no other one: the server may come to it when more is recorded.
  Flights again;
  again.emplace_back(call);
  again.front().forgets = recalled->what();
  again.front().forgotten = 0;
  resubmit(again);
}

void PostgresBackend::answered_renewal(const Call& call, const Result& result) {
  Renewal& renewal = call.renewal();
  std::vector<Renewal::Item>& items = renewal.items();
  const std::string_view answers = result.text(0).value_or("");
  if (answers.size() != items.size() ||
      answers.find_first_not_of("01W?") != std::string_view::npos) {
    return nonsense(call);
  }
  if (renewal.done()) return;
  const std::vector<std::size_t> places = Statements::owners_first(items);
  for (std::size_t answer = 0; answer < places.size(); ++answer) {
    const std::size_t i = places[answer];
    if (answers[answer] == '?' && !base::mutant("postgres.locked_row_counts_as_lost"))
      continue;  // its row was locked: unknown, and repeated
    items[i].answer = answers[answer] == '0' ? Renewal::Answer::lost : Renewal::Answer::renewed;
    items[i].wanted = answers[answer] == 'W' && items[i].hold.mode == Mode::shared;
    items[i].counted_from = call.asked;
    items[i].granted = items[i].lease;
  }
  attempts_.renewed(items);
  renewal.answered();
}

}  // namespace mortise::postgres
