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

#include <exception>
#include <thread>

namespace mortise::redis {

void RedisBackend::note_unanswered(std::list<Call>& calls, Instant now) noexcept {
  for (Call& call : calls) {
    if (call.kind == Call::Kind::acquire || call.kind == Call::Kind::cancel) {
      // A cancellation takes nothing itself. But its answer may have told of a hold, and have been
      // lost, for want of memory, on its way to whom that concerns.
      attempts_.unanswered(call.attempt(), 0, call.epoch, now, call.shared_acquisition());
    } else if (call.kind == Call::Kind::release) {
      const Release& release = call.releasing();
      attempts_.unanswered(release.hold().attempt, call.ours ? 0 : release.hold().number,
                           call.epoch, now);
      if (!call.goes_on) continue;
      const auto& next = release.successor();
      attempts_.unanswered(next->request().attempt, 0, call.epoch, now, next);
    } else if (call.kind == Call::Kind::recall) {
      call.copies = call.copies || call.found;
    } else if (call.kind == Call::Kind::force) {
      call.copies = true;
    }
  }
}

void RedisBackend::end_leftover(const std::shared_ptr<Acquisition>& operation) noexcept {
  try {
    Call call = Call::cancel(operation, clock_->now());
    call.leftover = true;
    submit(std::move(call));
  } catch (const std::exception&) {
    attempts_.put_back(operation->request().attempt);
    break_commands();
  }
}

void RedisBackend::take_back(const std::shared_ptr<Acquisition>& operation) noexcept {
  // By now it may have become a hold, which its answer is to tell.
  if (attempts_.is_decided(operation->request().attempt)) return end_leftover(operation);
  try {
    submit(Call::cancel(operation, clock_->now()));
  } catch (const std::exception&) {
    break_commands();
  }
}

void RedisBackend::end_leftover_of(const AttemptId& attempt) {
  if (const auto operation = attempts_.leftover(attempt)) end_leftover(operation);
}

void RedisBackend::answered_leftover(Server& server, const Call& call, const Answer& answer) {
  if (answer.kind != Answer::Kind::granted) return attempts_.give_up_leftover(call.attempt());
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
