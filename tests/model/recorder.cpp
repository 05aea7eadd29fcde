// SPDX-License-Identifier: MIT
// Turns calls into events. The clock is read first: before the call for an invoke, after it for a
// return, so a window may come out too wide by the cost of the record, and never too narrow.
#include "model/recorder.hpp"

#include <unistd.h>

#include <utility>

namespace mortise::model {

Recorder::Recorder(HistoryFile& history, std::uint32_t process, Clock clock)
    : history_(history), process_(process), pid_(::getpid()), clock_(std::move(clock)) {}

Event Recorder::event(Operation operation, Phase phase) const {
  Event event;
  event.time = clock_();
  event.pid = pid_;
  event.process = process_;
  event.operation = operation;
  event.phase = phase;
  return event;
}

Event Recorder::event(const Hold& hold, Operation operation, Phase phase) const {
  Event made = event(operation, phase);
  made.hold = hold.op;
  made.token = hold.token;
  made.owner = hold.owner;
  made.name = hold.name;
  made.shape = hold.shape;
  return made;
}

Attempt Recorder::invoke_acquire(std::uint32_t owner, std::uint32_t name, Shape shape) const {
  Event made = event(Operation::acquire, Phase::invoked);
  made.owner = owner;
  made.name = name;
  made.shape = shape;
  return {history_.append(made), owner, name, made.time, shape};
}

Hold Recorder::granted(const Attempt& attempt, std::uint64_t token, std::int64_t deadline) const {
  Event made = event(Operation::acquire, Phase::returned);
  made.op = attempt.op;
  made.owner = attempt.owner;
  made.name = attempt.name;
  made.token = token;
  made.shape = attempt.shape;
  made.deadline = deadline;
  made.outcome = Outcome::ok;
  history_.append(made);
  return {attempt.op, attempt.owner, attempt.name, token, attempt.shape};
}

void Recorder::returned(const Attempt& attempt, Outcome fail_or_unknown) const {
  Event made = event(Operation::acquire, Phase::returned);
  made.op = attempt.op;
  made.owner = attempt.owner;
  made.name = attempt.name;
  made.shape = attempt.shape;
  made.outcome = fail_or_unknown;
  history_.append(made);
}

void Recorder::renewed(const Hold& hold, std::int64_t deadline) const {
  Event made = event(hold, Operation::renewal, Phase::single);
  made.deadline = deadline;
  history_.append(made);
}

void Recorder::lost(const Hold& hold) const {
  history_.append(event(hold, Operation::loss, Phase::single));
}

RecordedCall Recorder::invoke(const Hold& hold, Operation operation) const {
  return {hold, operation, history_.append(event(hold, operation, Phase::invoked))};
}

RecordedCall Recorder::invoke_release(const Hold& hold) const {
  return invoke(hold, Operation::release);
}

RecordedCall Recorder::invoke_write(const Hold& hold) const {
  return invoke(hold, Operation::write);
}

void Recorder::returned(const RecordedCall& call, Outcome outcome) const {
  Event made = event(call.hold, call.operation, Phase::returned);
  made.op = call.op;
  made.outcome = outcome;
  history_.append(made);
}

void Recorder::died(std::uint32_t process, pid_t pid, std::int64_t sent,
                    std::int64_t reaped) const {
  Event made = event(Operation::death, Phase::single);
  made.time = sent;
  made.deadline = reaped;
  made.process = process;
  made.pid = pid;
  history_.append(made);
}

}  // namespace mortise::model
