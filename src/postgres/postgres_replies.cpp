// SPDX-License-Identifier: MIT
// What the server says, and what that makes of requests: the other half of PostgresBackend.
#include "core/figures.hpp"
#include "postgres/postgres_backend.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace mortise::postgres {
namespace {

// Who waits looks again this long after the holder's lease has ended.
constexpr std::chrono::milliseconds after_the_end{2};
// Where nobody will tell: how soon to look again, doubled each time.
constexpr std::chrono::milliseconds first_look{2};
constexpr std::chrono::milliseconds last_look{250};

constexpr std::string_view lock_timed_out = "55P03";

std::chrono::nanoseconds next_look(unsigned in_vain) {
  return std::min<std::chrono::nanoseconds>(last_look, first_look * (1U << std::min(in_vain, 10U)));
}

}  // namespace

void PostgresBackend::connected(Connection& connection) {
  hearing_.store(connection.pooled() ? Hearing::pooled : Hearing::possible);
  if (pool_->has(connection)) {
    {
      const std::lock_guard lock(mutex_);
      no_server_ = Failure{};
    }
    tidy_later();
    submit_parked();
    return;
  }
  listening_.store(true);
  tidy_later();
  // Nothing was told while nobody listened.
  for (const auto& operation : attempts_.undecided()) {
    if (operation->request().wait) ask(operation);
  }
}

void PostgresBackend::notified(const std::string& payload) {
  const std::size_t space = payload.find(' ');
  const std::string first = space == std::string::npos ? "" : payload.substr(space + 1);
  const std::string name = bytes_of(std::string_view(payload).substr(0, space));
  for (const auto& operation : attempts_.waiting(name, bytes_of(first))) ask(operation);
}

void PostgresBackend::dropped(Connection& connection, const ServerError& why, bool was_up,
                              std::deque<Call> unanswered) {
  if (stopped_.load()) return;
  if (pool_->has(connection)) {
    lost_commands(why, was_up, std::move(unanswered));
  } else {
    lost_listener(why);
    // Whatever broke it may have broken the others, which nobody may be looking at.
    if (was_up) pool_->suspect();
  }
}

void PostgresBackend::lost_commands(const ServerError& why, bool was_up,
                                    std::deque<Call> unanswered) {
  const Instant now = clock_->now();
  for (const Call& call : unanswered) {
    pool_->done(call);
    if (call.kind == Call::Kind::acquire) {
      attempts_.unanswered(call.acquisition().request().attempt, now);
    } else if (call.kind == Call::Kind::release) {
      attempts_.release_unanswered(call.release().hold().attempt, now);
    }
  }
  const bool others = pool_->up();
  std::vector<Call> calls(std::make_move_iterator(unanswered.begin()),
                          std::make_move_iterator(unanswered.end()));
  if (!others) {
    const std::lock_guard lock(mutex_);
    no_server_ = why.failure;
    std::move(parked_.begin(), parked_.end(), std::back_inserter(calls));
    parked_.clear();
  }
  const bool final = why.kind == ServerError::Kind::final && !others;
  // A connection that was up is up again at once, as a rule.
  const bool once_more = others || (was_up && !final);
  for (Call& call : calls) {
    if (is_over(call, now)) continue;
    const bool frees = call.kind == Call::Kind::release || call.kind == Call::Kind::cancel;
    if (final && !frees) {
      fail(call, why.failure);
    } else if (call.kind == Call::Kind::renew && !once_more) {
      call.renewal().answered();  // unknown: repeated inside the lease
    } else {
      if (!others) call.operation->trouble(why.failure);
      resubmit(std::move(call));
    }
  }
  if (others) return;
  bool wanted = false;
  for (const auto& operation : attempts_.undecided()) {
    if (final) {
      attempts_.decided(operation->request().attempt);
      operation->failed(why.failure);
    } else {
      wanted = true;
      operation->trouble(why.failure);
    }
  }
  if (wanted) pool_->want(false);
}

void PostgresBackend::lost_listener(const ServerError& why) {
  listening_.store(false);
  if (why.kind == ServerError::Kind::final) {
    deaf_.store(true);  // who waits looks by time
  } else {
    listener_.load()->want();
  }
}

void PostgresBackend::answered(const Call& call, const Result& result) {
  pool_->done(call);
  // What is being taken back waits for the answer to that.
  const bool over =
      call.kind == Call::Kind::acquire && attempts_.answered(call.acquisition().request().attempt);
  if (result.kind() != Result::Kind::rows) return refused(call, result.error());
  switch (call.kind) {
    case Call::Kind::acquire:
      if (call.text == Call::Text::peek && result.rows() == 0) {
        // Somebody has deleted the row.
        known_.missed(call.acquisition().request().name);
        return resubmit(call);
      }
      if (call.text == Call::Text::look) known_.seen(call.acquisition().request().name);
      [[fallthrough]];
    case Call::Kind::cancel: {
      const std::optional<Answer> answer = Answer::of(result);
      return answer ? answered_attempt(call, *answer, over) : nonsense(call);
    }
    case Call::Kind::release: {
      const std::optional<ReleaseOutcome> outcome = release_outcome(result);
      return outcome ? answered_release(call, *outcome) : nonsense(call);
    }
    case Call::Kind::renew: return answered_renewal(call, result);
    case Call::Kind::inspect:
    case Call::Kind::force: {
      auto holder = holder_of(result);
      if (!holder) return nonsense(call);
      return call.inspection().answered(std::move(*holder));
    }
    case Call::Kind::check:
      if (!holder_of(result)) return nonsense(call);
      return static_cast<Check&>(*call.operation).answered();
  }
}

void PostgresBackend::refused(const Call& call, const PqError& error) {
  const ServerError meaning = server_error(where_, error);
  if (meaning.kind == ServerError::Kind::final) return fail(call, meaning.failure);
  switch (call.kind) {
    case Call::Kind::acquire:
    case Call::Kind::cancel:
    case Call::Kind::release:
    case Call::Kind::force:
      // Not done: the library repeats it.
      call.operation->trouble(meaning.failure);
      // Sooner, if a lock was only waited for too long: see sql/take.sql.
      if (error.state == lock_timed_out) {
        again_at(call, clock_->now() + first_look);
      } else if (call.kind == Call::Kind::force) {
        again_at(call, clock_->now() + last_look);  // no library is behind that one
      }
      break;
    case Call::Kind::renew:
    case Call::Kind::inspect:
    case Call::Kind::check: call.operation->failed(meaning.failure); break;
  }
  if (meaning.kind == ServerError::Kind::elsewhere) pool_->suspect();
}

void PostgresBackend::fail(const Call& call, const Failure& why) {
  // A statement that has failed has no effect: nothing is to be taken back.
  if (call.kind == Call::Kind::acquire || call.kind == Call::Kind::cancel) {
    attempts_.decided(call.acquisition().request().attempt);
  }
  call.operation->failed(why);
}

void PostgresBackend::nonsense(const Call& call) {
  const Failure why(Errc::protocol, where_ + ": an answer that makes no sense");
  call.operation->failed(why);
  if (call.kind != Call::Kind::acquire) return;
  // Whatever was meant: the server may have granted it.
  const auto operation = std::static_pointer_cast<Acquisition>(call.operation);
  attempts_.unanswered(operation->request().attempt, clock_->now());
  static_cast<void>(attempts_.cancelled(operation));
  take_back(operation);
}

void PostgresBackend::answered_attempt(const Call& call, const Answer& answer, bool over) {
  Acquisition& operation = call.acquisition();
  const Acquisition::Request& request = operation.request();
  if (answer.kind != Answer::Kind::granted) {
    if (over) return;
    if (call.kind == Call::Kind::acquire) {
      if (request.wait && answer.kind != Answer::Kind::refused) return waits(call, answer);
    } else if (answer.kind == Answer::Kind::locked) {
      return again_at(call, clock_->now() + first_look);
    }
    attempts_.decided(request.attempt);
    operation.busy(answer.holder ? answer.holder : operation.holder());
    return;
  }
  attempts_.decided(request.attempt);
  const std::chrono::nanoseconds age = answer.age;
  operation.granted({.number = answer.number,
                     .counted_from = call.asked - age - age * core::drift_permille / 1000,
                     .lease = answer.lease.count() > 0 ? answer.lease : request.lease});
  // Where another thread completes it at this moment, its result can be read only afterwards.
  while (!operation.done()) std::this_thread::yield();
  if (operation.grant().number != answer.number) give_back(operation, answer.number);
}

void PostgresBackend::waits(const Call& call, const Answer& answer) {
  Acquisition& operation = call.acquisition();
  const AttemptId& attempt = operation.request().attempt;
  if (operation.done()) return;
  operation.queued(answer.holder);
  const Hearing hearing = hearing_.load();
  if (hearing == Hearing::possible && !deaf_.load()) open_listener(attempt);
  const bool told = answer.kind == Answer::Kind::held && listening_.load();
  const unsigned in_vain = attempts_.looked_in_vain(attempt, told);
  Instant when = told ? never : clock_->now() + next_look(in_vain);
  if (answer.kind == Answer::Kind::held && answer.left < core::fallback_period) {
    when = std::min(when, call.asked + answer.left + after_the_end);
  }
  if (when != never) again_at(call, when);
}

void PostgresBackend::give_back(const Acquisition& operation, std::uint64_t number) {
  const Acquisition::Request& request = operation.request();
  release(std::make_shared<Release>(
      HoldId{.name = request.name, .attempt = request.attempt, .number = number}));
}

void PostgresBackend::answered_release(const Call& call, ReleaseOutcome outcome) {
  Release& release = call.release();
  const bool before = attempts_.release_in_doubt(release.hold().attempt);
  switch (outcome) {
    case ReleaseOutcome::freed: return release.answered(Released::released);
    case ReleaseOutcome::freed_before:
      return release.answered(before ? Released::released : Released::was_lost);
    case ReleaseOutcome::lapsed: return release.answered(Released::was_lost);
    case ReleaseOutcome::not_ours:
      // The copy of which no answer came may have freed it, and somebody else have taken it since.
      return release.answered(before ? Released::unknown : Released::was_lost);
    case ReleaseOutcome::locked:
      if (!release.done()) again_at(call, clock_->now() + first_look);
      return;
  }
}

void PostgresBackend::answered_renewal(const Call& call, const Result& result) {
  Renewal& renewal = call.renewal();
  std::vector<Renewal::Item>& items = renewal.items();
  const std::string_view answers = result.text(0).value_or("");
  if (answers.size() != items.size() ||
      answers.find_first_not_of("01?") != std::string_view::npos) {
    return nonsense(call);
  }
  if (renewal.done()) return;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (answers[i] == '?') continue;  // its row was locked: unknown, and repeated
    items[i].answer = answers[i] == '1' ? Renewal::Answer::renewed : Renewal::Answer::lost;
    items[i].counted_from = call.asked;
    items[i].granted = items[i].lease;
  }
  renewal.answered();
}

}  // namespace mortise::postgres
