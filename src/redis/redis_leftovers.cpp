// SPDX-License-Identifier: MIT
// Requests of which no answer came: parts of RedisBackend. A waiter that asks again may be told by
// a message meanwhile that it has the lock, lose that at once, and be granted it once more by what
// it has asked; where that answer is lost with its connection, the lock would be held by nobody for
// a whole lease. So of each attempt of which a request was not answered, and that is decided when
// the next connection is up, or later otherwise than by an answer (a message, a refusal), it is
// asked like of one that is cancelled: what is on its way is refused from then on, and what it has
// is given back.
#include "core/figures.hpp"
#include "redis/redis_backend.hpp"

#include <thread>

namespace mortise::redis {

const AttemptId& RedisBackend::attempt_of(const Call& call) {
  return static_cast<Acquisition&>(*call.operation).request().attempt;
}

void RedisBackend::note_unanswered(const std::deque<Call>& calls, Instant now) {
  for (const Call& call : calls) {
    if (call.kind == Call::Kind::acquire) {
      attempts_.unanswered(attempt_of(call), false, call.epoch, now,
                           std::static_pointer_cast<Acquisition>(call.operation));
    } else if (call.kind == Call::Kind::cancel) {
      attempts_.unanswered(attempt_of(call), false, call.epoch, now);  // takes nothing itself
      if (call.leftover) attempts_.put_back(attempt_of(call));
    } else if (call.kind == Call::Kind::release) {
      const auto& release = static_cast<Release&>(*call.operation);
      attempts_.unanswered(release.hold().attempt, true, call.epoch, now);
      if (!call.goes_on) continue;
      const auto& next = release.successor();
      attempts_.unanswered(next->request().attempt, false, call.epoch, now, next);
    }
  }
}

// What was sent of the same attempts before is refused at the server from now on.
void RedisBackend::note_executed(const Call& call) {
  if (call.kind == Call::Kind::acquire || call.kind == Call::Kind::cancel) {
    attempts_.answered(attempt_of(call), call.epoch);
  } else if (call.kind == Call::Kind::release) {
    const auto& release = static_cast<Release&>(*call.operation);
    attempts_.answered(release.hold().attempt, call.epoch, false);
    if (call.goes_on) attempts_.answered(release.successor()->request().attempt, call.epoch);
  }
}

void RedisBackend::end_leftover(const std::shared_ptr<Acquisition>& operation) {
  const Instant now = clock_->now();
  submit({.kind = Call::Kind::cancel,
          .leftover = true,
          .operation = operation,
          .asked = now,
          .deadline = now + core::command_timeout(operation->request().lease)});
}

void RedisBackend::end_leftover_of(const AttemptId& attempt) {
  if (const auto operation = attempts_.leftover(attempt)) end_leftover(operation);
}

void RedisBackend::answered_leftover(const Call& call, const Answer& answer) {
  if (answer.kind != Answer::Kind::granted) return;
  const auto& operation = static_cast<Acquisition&>(*call.operation);
  // It is decided, but another thread may be completing it at this moment.
  while (!operation.done()) std::this_thread::yield();
  if (operation.grant().number == answer.number) return;
  const Acquisition::Request& request = operation.request();
  give_back(request.name, request.attempt, answer.number, request.lease);
}

}  // namespace mortise::redis
