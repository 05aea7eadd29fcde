// SPDX-License-Identifier: MIT
#include "postgres/grants.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "postgres/listener.hpp"
#include "postgres/polling.hpp"
#include "remote/outcome.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace mortise::postgres {
namespace {

// A waiter looks again this long after the holder's lease has ended.
constexpr std::chrono::milliseconds after_the_end{2};

}  // namespace

bool Grants::answered(const Call& call, std::optional<Answer> read) {
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
  const bool is_over = call.kind == Call::Kind::acquire &&
                       parts_.attempts.answered(call.shared_acquisition(), stays);
  if (!read) return false;
  const Answer& answer = *read;
  if (answer.for_others) parts_.ring(request.mode, request.name);
  // Of a key, only a look undoes a run whose lease is over: see mortise.cancel_key(). A request
  // that finds other clients in front of it has not looked at that run, and a cancel leaves it as
  // long as the attempt is undecided.
  const bool has_looked = call.kind == Call::Kind::acquire ? answer.kind != Answer::Kind::ahead
                                                           : call.passage.is_decided;
  const bool is_final = request.mode != Mode::once || has_looked;
  if (is_final && answer.kind != Answer::Kind::locked && answer.kind != Answer::Kind::late) {
    parts_.attempts.executed(request.attempt, answer.at, call.passage.clock, parts_.now());
  }
  if (answer.kind == Answer::Kind::granted) {
    granted(call, answer);
  } else if (!is_over) {
    not_granted(call, answer);
  }
  return true;
}

void Grants::not_granted(const Call& call, const Answer& answer) {
  Acquisition& operation = call.acquisition();
  const Acquisition::Request& request = operation.request();
  // By the reading of the clock that came with the answer.
  if (answer.kind == Answer::Kind::late) {
    Flight again = call;
    if (std::exchange(again.executed, false) && call.kind == Call::Kind::acquire) {
      parts_.attempts.may_hold(call.shared_acquisition(), call.void_moment(parts_.now()));
    }
    return parts_.exchange->send_again(remote::alone(std::move(again)));
  }
  const bool locked = answer.kind == Answer::Kind::locked;
  if (call.kind != Call::Kind::acquire) {
    return locked ? parts_.again_soon(call) : ended(operation, answer);
  }
  const bool wait = request.wait && !parts_.attempts.waiter(request.attempt, &Waiter::asks_last);
  const bool ends = answer.kind == Answer::Kind::told || answer.kind == Answer::Kind::differs;
  if (wait && !ends) return waits(call, answer);
  // It may be a lost request of its own that has the row, and waits for its commit.
  const bool itself = locked && parts_.attempts.is_in_doubt(request.attempt) &&
                      !base::mutant("postgres.row_of_own_copy_is_busy");
  if (itself && !operation.done()) return parts_.again_soon(call);
  ended(operation, answer);
}

void Grants::ended(Acquisition& operation, const Answer& answer) {
  const Acquisition::Request& request = operation.request();
  if (answer.record) {
    operation.recorded(answer.record);
  } else if (answer.kind == Answer::Kind::differs) {
    operation.failed({Errc::misconfigured,
                      request.name + ": the store has " + std::to_string(answer.permits) +
                          " permits, but this client asks for " + std::to_string(request.permits) +
                          "; use one number in all clients"});
  } else {
    operation.busy(answer.holder ? answer.holder : operation.holder());
  }
  parts_.exchange->over(request.attempt);
}

void Grants::granted(const Call& call, const Answer& answer) {
  Acquisition& operation = call.acquisition();
  const Acquisition::Request& request = operation.request();
  const std::chrono::nanoseconds age =
      base::mutant("postgres.old_grant_counts_as_new") ? std::chrono::microseconds(0) : answer.age;
  const Instant asked = base::mutant("postgres.deadline_from_reply") ? parts_.now() : call.asked;
  const Grant grant{.number = answer.number,
                    .counted_from = asked - age - age * core::drift_permille / 1000,
                    .lease = answer.lease.count() > 0 ? answer.lease : request.lease,
                    .run = answer.run};
  const std::uint64_t noted = parts_.attempts.held(request.attempt, grant.number, call.asked,
                                                   grant.counted_from + grant.lease);
  remote::complete(*parts_.exchange, parts_.attempts, operation, grant, noted);
  if (parts_.attempts.next_look() != never) parts_.polling->sooner();
}

// A late answer never grants: only the answer to a later request does. If no caller wants the hold
// any more, the late answer is the first to report the hold.
void Grants::answered_late(const Call& call, const Answer& answer) {
  const bool is_granted = answer.kind == Answer::Kind::granted;
  if (!is_granted && answer.kind != Answer::Kind::late) return;
  const Acquisition& operation = call.acquisition();
  if (!operation.done()) return parts_.ask(call.shared_acquisition());
  // If it was cancelled, the repeated cancel would find the hold as well, only later.
  if (is_granted && operation.grant().number != answer.number) {
    remote::give_back(*parts_.exchange, operation.request(), answer.number);
  }
}

void Grants::waits(const Call& call, const Answer& answer) {
  Acquisition& operation = call.acquisition();
  const AttemptId& attempt = operation.request().attempt;
  if (operation.done()) return parts_.exchange->over(attempt);
  operation.queued(answer.holder);
  if (parts_.attempts.waiter(attempt, &Waiter::is_told_meanwhile))
    return parts_.ask(call.shared_acquisition());
  parts_.listener->open(attempt);
  const bool told = answer.kind == Answer::Kind::held && parts_.listener->listens();
  using enum Waiter::InVain;
  const bool row_locked = answer.kind == Answer::Kind::locked;
  const unsigned in_vain = parts_.attempts.waiter(attempt, &Waiter::look_in_vain,
                                                  told         ? told_later
                                                  : row_locked ? locked
                                                               : held);
  Instant when = told ? never : parts_.now() + next_look(in_vain);
  if (answer.kind == Answer::Kind::held && answer.left < core::fallback_period) {
    when = std::min(when, call.asked + answer.left + after_the_end);
  }
  if (when != never) parts_.exchange->repeat_at(call, when);
}

}  // namespace mortise::postgres
