// SPDX-License-Identifier: MIT
// What the server answers, and what that makes of requests: the other half of RedisBackend. The
// inbox is in redis_inbox.cpp.
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "core/figures.hpp"
#include "redis/redis_backend.hpp"
#include "redis/rights.hpp"
#include "redis/server_error.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace mortise::redis {
namespace {

// The first in a queue looks again this long after its holder's lease has ended.
constexpr std::chrono::milliseconds after_the_end{2};
// A waiter that has no place asks so often.
constexpr std::chrono::milliseconds while_apart{50};

// Where the server's clock was set back the hold lasts for longer than was asked for, but its next
// renewal moves that end to where it belongs: who was told of the later one would believe in it,
// and the server would give the lock to the next (S1).
Grant grant_of(const Acquisition::Request& request, Instant asked, const Answer& answer) {
  return {.number = answer.number,
          .counted_from = asked,
          .lease = std::min<std::chrono::nanoseconds>(request.lease, answer.left),
          .run = answer.run};
}

// What is granted of a key has the number of its run, and a record is one of a key.
bool fits(const Call& call, const Answer& answer) {
  const bool once = call.mode() == Mode::once;
  switch (answer.kind) {
    case Answer::Kind::granted: return once == (answer.run != 0);
    case Answer::Kind::recorded: return once && call.kind != Call::Kind::cancel;
    default: return call.kind != Call::Kind::recall;
  }
}

}  // namespace

// What attempts hold is recorded before anything else is read: a waiter may get a push as well,
// before or after this reply.
void RedisBackend::matched(Server& server, const Call& call, const Reply& reply, Instant now) {
  Server::Told& told = server.told();
  told.forget();
  if (reply.kind != Reply::Kind::array) return;
  if (call.kind == Call::Kind::release || call.kind == Call::Kind::force) {
    told.release = ReleaseAnswer::parse(reply);
    if (!told.release || call.kind == Call::Kind::force) return;
    const HoldId& hold = call.releasing().hold();
    const Acquisition* const next = call.releasing().successor().get();
    const bool has_time = told.release->now != ServerTime{};
    if (now == Instant{} && (has_time || next != nullptr)) now = clock_->now();
    if (has_time) {
      server.time().read(call.asked, told.release->now, now);
    }
    told.release_in_doubt = attempts_.released(hold.attempt, hold.number);
    if (next == nullptr || !told.release->successor) return;
    told.looks_later =
        attempts_.any_lost() &&
        attempts_.executed(next->request().attempt, told.release->now, server.clock(), now);
    told.hold = note_grant(next->request(), call.asked, *told.release->successor);
    return;
  }
  if (call.kind == Call::Kind::renew || call.kind == Call::Kind::list ||
      call.kind == Call::Kind::queue || call.kind == Call::Kind::ask) {
    return;
  }
  told.answer = Answer::parse(reply);
  if (told.answer && !fits(call, *told.answer)) told.answer.reset();
  if (!told.answer) return;
  server.time().read(call.asked, told.answer->now, now);
  if (!call.is_about_an_attempt()) return;
  told.looks_later = attempts_.any_lost() &&
                     attempts_.executed(call.attempt(), told.answer->now, server.clock(), now);
  if (call.leftover) return;
  told.hold = note_grant(call.acquisition().request(), call.asked, *told.answer);
}

std::uint64_t RedisBackend::note_grant(const Acquisition::Request& request, Instant asked,
                                       const Answer& answer) {
  if (answer.kind != Answer::Kind::granted) return 0;
  const Grant grant = grant_of(request, asked, answer);
  return attempts_.held(request.attempt, grant.number, asked, grant.counted_from + grant.lease);
}

void RedisBackend::answered(Server& server, const Call& call, const Reply& reply) {
  take_answer(server, call, reply);
  if (server.keeps_any()) let_leave(server);
}

void RedisBackend::take_answer(Server& server, const Call& call, const Reply& reply) {
  if (call.kind == Call::Kind::slots) return answered_slots(server, reply);
  if (reply.is_error()) return refused(server, call, reply);
  if (reply.kind != Reply::Kind::array) return nonsense(server, call);
  if (server.told().looks_later) host_->changed(alarm_);
  if (call.kind == Call::Kind::renew) return answered_renewal(server, call, reply);
  if (call.kind == Call::Kind::release) return answered_release(server, call);
  if (call.kind == Call::Kind::list) return answered_list(server, call, reply);
  if (call.kind == Call::Kind::queue) return answered_queue(server, call, reply);
  if (call.kind == Call::Kind::ask) return answered_places(server, call, reply);
  if (call.kind == Call::Kind::force) {
    if (!server.told().release) return nonsense(server, call);
    return answered_force(call, server.told().release->outcome == ReleaseAnswer::Outcome::freed);
  }
  if (!server.told().answer) return nonsense(server, call);
  const Answer& answer = *server.told().answer;
  switch (call.kind) {
    case Call::Kind::acquire:
    case Call::Kind::cancel:
      if (call.leftover) return answered_leftover(server, call, answer);
      // As nearly always, and it needs no reference of its own.
      if (answer.kind == Answer::Kind::granted && witness() == nullptr) {
        return granted(server.told(), call.acquisition(), call.asked, answer);
      }
      return answered_attempt(server, call.shared_acquisition(), call.asked, answer);
    case Call::Kind::inspect: return call.inspection()->answered(answer.holder());
    case Call::Kind::check: return answered_check(server, call);
    case Call::Kind::recall: return answered_recall(call, answer);
    case Call::Kind::release:
    case Call::Kind::force:
    case Call::Kind::list:
    case Call::Kind::queue:
    case Call::Kind::ask:
    case Call::Kind::slots:
    case Call::Kind::renew: return;  // above
  }
}

void RedisBackend::refused(Server& server, const Call& call, const Reply& reply) {
  ServerError error = server_error(server.where(), reply.text);
  Operation& operation = *call.operation;
  if (cluster_ && error.kind != ServerError::Kind::script) {
    if (redirected(server, call, reply.text)) return;
    // Again and again, or to a server without an address.
    if (is_redirection(reply.text)) {
      error.kind = ServerError::Kind::passing;
      error.failure.code = make_error_code(Errc::unavailable);
    }
    if (error.kind != ServerError::Kind::final) want_look();
  }
  if (error.kind == ServerError::Kind::script && !call.whole) {
    if (operation.done() && call.kind != Call::Kind::cancel) return;
    // An attempt that was taken back in between must not come behind its own cancel.
    if (call.kind == Call::Kind::acquire && attempts_.is_withdrawn(call.attempt())) return;
    server.commands().loaded().forget();
    Call again = call;
    again.whole = true;
    again.once = false;  // it was refused
    submit(std::move(again));
    return;
  }
  const bool final = error.kind == ServerError::Kind::final;
  const remote::Fate fate = remote::fate_of_refused(call.purpose(), final);
  error.failure.text += remedy(settings_, reply.text, rights_beside(call.kind));
  if (error.kind == ServerError::Kind::elsewhere) {
    if (call.kind != Call::Kind::acquire) put_in_outbox(Calls{call});
    server.commands().drop(error.failure);
    return;
  }
  if (call.kind == Call::Kind::renew) {
    if (renews_apart(call, reply.text)) return;
    operation.failed(std::move(error.failure));
  } else if (call.is_about_an_attempt() && !final) {
    if (call.kind == Call::Kind::acquire) attempts_.refuse(call.attempt());
    if (fate == remote::Fate::later) run_again_later(call);
    operation.trouble(std::move(error.failure));
  } else if (call.kind == Call::Kind::release) {
    const std::shared_ptr<Acquisition>& next = call.releasing().successor();
    // What is written needs memory, and whoever has it written can do without, or say it again.
    const bool unwritten = call.releasing().conclusion() && error.failure.code == Errc::exhausted;
    if (!final && !unwritten) {
      // The slot of the name may be on its way: then the script may have failed halfway.
      if (cluster_) attempts_.release_lost(call.releasing().hold(), clock_->now());
      // Not done: the library repeats it, if it is the library's.
      if (fate == remote::Fate::later) run_again_later(call);
      if (next) next->trouble(error.failure);
      operation.trouble(std::move(error.failure));
      return;
    }
    if (next) {
      next->failed(error.failure);
      attempts_.over(next->request().attempt);
      end_leftover_of(next->request().attempt);
    }
    operation.failed(std::move(error.failure));
  } else if (call.kind == Call::Kind::acquire && error.is_halfway()) {
    // A script may have failed halfway, also for want of a right. This copy is executed: nothing of
    // it comes late, and the cancel behind it, by the same connection, finds what it has left.
    operation.failed(std::move(error.failure));
    cancel_behind(call.shared_acquisition());
  } else {
    operation.failed(std::move(error.failure));
    if (!call.is_about_an_attempt()) return;
    attempts_.over(call.attempt());
    // Asked about once more it would be refused once more, and close() would wait for that.
    if (call.leftover) attempts_.give_up(call.attempt());
    end_leftover_of(call.attempt());
  }
}

void RedisBackend::fail_protocol(const Call& call, const Failure& why) {
  call.operation->failed(why);
  if (call.kind != Call::Kind::acquire) return;
  // Whatever was meant: the server may have granted it.
  const std::shared_ptr<Acquisition> operation = call.shared_acquisition();
  note_lost(server_of(call), call, operation);
  cancel_behind(operation);
}

void RedisBackend::nonsense(Server& server, const Call& call) {
  const Failure why(Errc::protocol, server.where() + ": the server sent an invalid reply");
  if (remote::fate_of_misread(call.purpose()) == remote::Fate::keep) {
    // It may not have been executed, and nobody else would free that: it is as if no answer had
    // come, and is said again by the next connection.
    Calls alone{call};
    // A leftover is noted already: not once more each time, or it would be tried for ever.
    if (!call.leftover) note_unanswered(server, alone);
    call.operation->trouble(why);
    keep(server, std::move(alone));
  } else {
    fail_protocol(call, why);
  }
  server.commands().drop(why);
}

void RedisBackend::answered_attempt(Server& server, const std::shared_ptr<Acquisition>& operation,
                                    Instant asked, const Answer& answer) {
  const Acquisition::Request& request = operation->request();
  switch (answer.kind) {
    case Answer::Kind::granted: {
      if (witness() == nullptr) return granted(server.told(), *operation, asked, answer);
      const Grant grant = grant_of(request, asked, answer);
      return attest(server.clock(), operation, grant,
                    [this, operation, grant, noted = server.told().hold] {
                      tell_granted(*operation, grant, noted);
                    });
    }
    case Answer::Kind::queued:
    case Answer::Kind::apart: return waits(server, operation, asked, answer);
    case Answer::Kind::busy:
      // Not queued for the lack of an inbox: that will come.
      if (request.wait && !attempts_.is_withdrawn(request.attempt)) {
        return waits(server, operation, asked, answer);
      }
      [[fallthrough]];
    case Answer::Kind::held:
    case Answer::Kind::free:
      operation->busy(answer.holder());
      attempts_.over(request.attempt);
      if (redisson(request.mode)) redisson_->stop_waiting(request.name);
      return;
    case Answer::Kind::recorded: return recorded(operation, answer);
    // Its reply was the next reading of the server's clock.
    case Answer::Kind::late:
      if (!attempts_.is_withdrawn(request.attempt)) return ask(operation);
      operation->busy(std::nullopt);
      return attempts_.over(request.attempt);
    case Answer::Kind::unlike:
      operation->failed({Errc::misconfigured,
                         request.name + ": the store has " + std::to_string(answer.permits) +
                             " permits, but this client asks for " +
                             std::to_string(request.permits) + "; use one number in all clients"});
      attempts_.over(request.attempt);
      return;
  }
}

/// @param operation kept by the call that is answered
void RedisBackend::granted(const Server::Told& told, Acquisition& operation, Instant asked,
                           const Answer& answer) {
  if (base::mutant("redis.count_from_the_reply")) asked = clock_->now();
  tell_granted(operation, grant_of(operation.request(), asked, answer), told.hold);
}

/// @param noted the number of its hold that is recorded
void RedisBackend::tell_granted(Acquisition& operation, const Grant& grant, std::uint64_t noted) {
  const Acquisition::Request& request = operation.request();
  operation.granted(grant);
  // Where another thread completes it at this moment, its result can be read only afterwards.
  while (!operation.done()) std::this_thread::yield();
  // Before the answer to its release is read.
  if (operation.grant().number != noted) attempts_.took(operation);
  RedissonSide* const beside = redisson(request.mode);
  if (beside != nullptr) beside->stop_waiting(request.name);
  if (operation.grant().number == grant.number) {
    if (beside != nullptr) begins_to_hold(request, grant.number);
  } else {
    give_back(request, grant.number);
  }
}

// Whatever a push has told it that it holds was over before the server looked at the record.
void RedisBackend::recorded(const std::shared_ptr<Acquisition>& operation, const Answer& answer) {
  const Acquisition::Request& request = operation->request();
  operation->recorded(answer.record);
  while (!operation->done()) std::this_thread::yield();
  if (!operation->record()) end_what_it_held(request, answer.record->number);
  attempts_.over(request.attempt);
}

void RedisBackend::waits(Server& server, const std::shared_ptr<Acquisition>& operation,
                         Instant asked, const Answer& answer) {
  const Acquisition::Request& request = operation->request();
  const Reading reading{asked, answer.now, server.clock()};
  const bool queued = answer.kind == Answer::Kind::queued;
  const std::optional<Push> early = attempts_.waits(request.attempt, reading, answer.last_number);
  if (early) return believe(operation, *early, reading);
  // Another thread has read a push of it, and completes it at this moment; or has it wait for the
  // replicas' word, which this thread may have to read. If that grant is over, so is that: see
  // attest().
  for (; attempts_.number_of(request.attempt) != 0 && !operation->done();
       std::this_thread::yield()) {
    if (witness() == nullptr || base::mutant("redis.sleeps_on_the_replicas_word")) continue;
    return end_what_it_held(request, answer.last_number);
  }
  if (operation->done()) {
    end_what_it_held(request, answer.last_number);
    // Neither is a cancel of it under way, nor was it granted the lock since: it stands in the
    // queue for nobody.
    // (The mutant is the other half of it, as well: no harm without.)
    const bool over =
        !attempts_.find(request.attempt) && !base::mutant("redis.send_what_is_withdrawn");
    if (queued && over && operation->grant().number <= answer.last_number) {
      cancel_behind(operation);
    }
    return;
  }
  operation->queued(answer.holder());
  if (queued) turns_.placed(operation, asked);
  if (queued) probe_inbox(server);
  if (queued && cluster_) listen(server, request);
  if (queued && answer.first && answer.left < core::fallback_period) {
    // Free, and not all who wait were looked at, or dropped: the next look gets further.
    const bool at_once = answer.left.count() == 0;
    turns_.ask_at(operation, at_once ? asked : asked + answer.left + after_the_end);
    host_->changed(alarm_);
  }
  if (answer.kind == Answer::Kind::apart) {
    turns_.ask_at(operation, asked + while_apart);
    host_->changed(alarm_);
  }
  if (queued && redisson(request.mode)) redisson_->queued(*operation, answer.first);
  const Failure why = server.listens() ? Failure{} : server.why_deaf();
  if (why) {
    operation->failed(why);
    cancel_behind(operation);
  }
}

void RedisBackend::answered_places(Server& server, const Call& call, const Reply& reply) {
  const auto& waiters = call.places().waiters();
  ServerTime at{};
  const std::vector<std::uint64_t> numbers =
      parse_codes(reply, "places", core::grant_number_limit - 1, &at);
  if (numbers.size() != waiters.size()) return nonsense(server, call);
  const Reading reading{call.asked, at, server.clock()};
  base::OneByOne each;
  each([&] { probe_inbox(server); });
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    const AttemptId& attempt = waiters[i]->request().attempt;
    if (attempts_.is_withdrawn(attempt)) continue;
    if (numbers[i] == 0) {
      each([&] { ask(waiters[i]); });
    } else if (const auto early = attempts_.waits(attempt, reading, numbers[i])) {
      each([&] { believe(waiters[i], *early, reading); });
    }
  }
  each.finish();
}

void RedisBackend::cancel_behind(const std::shared_ptr<Acquisition>& operation) noexcept {
  if (base::mutant("redis.leave_what_failed_at_the_server")) return;
  // It has failed for its caller, but the server may have queued it, or grant it.
  if (attempts_.abandoned(operation, clock_->now())) take_back(operation);
}

void RedisBackend::answered_release(Server& server, const Call& call) {
  Server::Told& told = server.told();
  if (!told.release) return nonsense(server, call);
  const ReleaseAnswer answer = *std::move(told.release);
  const bool before = told.release_in_doubt;
  Release& release = call.releasing();
  // Its successor may be noted as the holder by now, and is to know.
  base::OneByOne each;
  if (redisson(release.hold().mode)) each([&] { redisson_->stop_holding(release.hold()); });
  if (answer.successor && release.successor()) {
    each([&] { answered_attempt(server, release.successor(), call.asked, *answer.successor); });
  }
  const bool concluded = release.conclusion() != nullptr;
  const Released outcome = outcome_of(answer.outcome, before, concluded);
  if (concluded && outcome == Released::unknown) {
    release.failed({Errc::in_doubt, describe() + ": the reply was lost, and the retry found neither"
                                                 " the run nor its outcome; the first try may have"
                                                 " succeeded"});
  } else {
    release.answered(outcome);
  }
  each.finish();
}

// @param before a copy of which no answer came may have been executed
// @param concluded it was to write an outcome: then what is freed only has none of ours, or one
// that was forgotten since
Released RedisBackend::outcome_of(ReleaseAnswer::Outcome told, bool before,
                                  bool concluded) noexcept {
  const Released in_doubt = before ? Released::unknown : Released::was_lost;
  switch (told) {
    case ReleaseAnswer::Outcome::freed: return Released::released;
    case ReleaseAnswer::Outcome::freed_before:
      return before && !concluded ? Released::released : in_doubt;
    case ReleaseAnswer::Outcome::lapsed: return Released::was_lost;
    // That copy may have freed it, and somebody else have taken it since.
    case ReleaseAnswer::Outcome::not_ours: return in_doubt;
  }
  return Released::unknown;
}

// The key was run in between: then the record that it has now is to be forgotten. Otherwise the
// record is forgotten, by this request or an earlier copy of it, or the server keeps it, because
// the key is held.
void RedisBackend::answered_recall(const Call& call, const Answer& answer) {
  Recollection& its = *call.recollection();
  if (its.done()) return;  // its caller has gone
  const std::shared_ptr<const Record>& record = answer.record;
  const bool stays = record->state != KeyState::absent &&
                     (!call.found || call.found->record->number != record->number);
  if (call.copies && record->held && call.found->record->number != record->number) {
    return its.failed(
        {Errc::in_doubt, describe() + ": the reply was lost, and the key runs again; the first try"
                                      " may have forgotten it"});
  }
  if (its.kind() == Recollection::Kind::forget && stays) {
    return submit(
        Call::recall(call.recollection(), std::make_shared<const Answer>(answer), clock_->now()));
  }
  its.answered(record);
}

}  // namespace mortise::redis
