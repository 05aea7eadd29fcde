// SPDX-License-Identifier: MIT
// Requests that were not answered: parts of RedisBackend. A waiter that asks again may be granted
// the lock by a message, lose it at once, and be granted it once more by the request. If that reply
// is lost with its connection, no client would know of the hold. So a client looks at each attempt
// whose request was lost, once the attempt is decided and the request is void: with a cancel, which
// answers a hold if there is one. That hold is given back.
#include "core/figures.hpp"
#include "redis/redis_backend.hpp"

#include <exception>
#include <thread>

namespace mortise::redis {

void RedisBackend::note_unanswered(const Server& server, std::list<Call>& calls) noexcept {
  for (Call& call : calls) {
    if (call.kind == Call::Kind::acquire || call.kind == Call::Kind::cancel) {
      // A cancel takes nothing. But its answer may have named a hold.
      note_lost(server, call, call.shared_acquisition());
    } else if (call.kind == Call::Kind::release) {
      if (!call.ours) attempts_.release_lost(call.releasing().hold(), clock_->now());
      if (call.goes_on) note_lost(server, call, call.releasing().successor());
    } else if (call.kind == Call::Kind::recall) {
      call.copies = call.copies || call.found;
    } else if (call.kind == Call::Kind::force) {
      call.copies = true;
    }
  }
}

void RedisBackend::note_lost(const Server& server, const Call& call,
                             const std::shared_ptr<Acquisition>& taker) {
  const Instant now = clock_->now();
  const Instant due = call.kind == Call::Kind::cancel
                          ? now
                          : call.asked + core::command_timeout(taker->request().lease) +
                                remote::VoidMoment::a_moment;
  attempts_.request_lost(taker, {call.void_after, server.clock(), now}, due);
}

void RedisBackend::look_at_leftovers(Instant now, bool connected) {
  for (const auto& operation : attempts_.begin_looks(now, connected)) end_leftover(operation);
}

void RedisBackend::end_leftover(const std::shared_ptr<Acquisition>& operation) noexcept {
  try {
    Call call = Call::cancel(operation, clock_->now());
    call.ours = call.leftover = true;
    submit(std::move(call));
  } catch (const std::exception&) {
    attempts_.look_failed(operation->request().attempt);
    break_commands();
  }
}

void RedisBackend::take_back(const std::shared_ptr<Acquisition>& operation) noexcept {
  // By now it may have become a hold, which its answer is to tell.
  if (attempts_.number_of(operation->request().attempt) != 0) return end_leftover(operation);
  try {
    Call call = Call::cancel(operation, clock_->now());
    call.ours = true;
    submit(std::move(call));
  } catch (const std::exception&) {
    break_commands();
  }
}

void RedisBackend::end_leftover_of(const AttemptId& attempt) {
  if (const auto operation = attempts_.begin_look(attempt, clock_->now())) end_leftover(operation);
}

void RedisBackend::answered_leftover(Server& server, const Call& call, const Answer& answer) {
  if (answer.kind != Answer::Kind::granted) return attempts_.settle(call.attempt());
  const Acquisition& operation = call.acquisition();
  if (witness() != nullptr && !operation.done()) {
    // It waits for the replicas' word, which this thread may have to read; or there was no memory
    // to ask them. Or it is being asked for anew, and that answer is to tell of the same hold.
    const std::uint64_t number = attempts_.number_of(call.attempt());
    if (number == answer.number) {
      answered_attempt(server, call.shared_acquisition(), call.asked, answer);
    } else if (number != 0) {
      give_back(operation.request(), answer.number);
    }
    return;
  }
  // It is decided, but another thread may be completing it at this moment.
  while (!operation.done()) std::this_thread::yield();
  if (operation.grant().number == answer.number) return;
  give_back(operation.request(), answer.number);
}

}  // namespace mortise::redis
