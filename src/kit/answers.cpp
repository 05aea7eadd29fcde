// SPDX-License-Identifier: MIT
// One connection carries answers and pushes in the order in which the server made them, and one
// thread at a time reads them.
#include "kit/answers.hpp"

#include "remote/outcome.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::kit {
namespace {

using Kind = remote::Message::Kind;
using Message = remote::Message;
using remote::AttemptCourse;
using remote::Purpose;

Grant grant_of(const Acquisition::Request& request, const Message& message, Instant counted_from) {
  return {.number = message.number,
          .counted_from = counted_from,
          .lease = std::min<std::chrono::nanoseconds>(request.lease, message.left)};
}

remote::ReleaseOutcome outcome_of(Kind answer) noexcept {
  using enum remote::ReleaseOutcome;
  if (answer == Kind::released) return freed;
  return answer == Kind::released_before ? freed_before : not_ours;
}

bool is_number(std::uint64_t number) noexcept {
  return number != 0 && number < core::grant_number_limit;
}

bool fits(const Call& call, const Message& message) {
  switch (message.kind) {
    case Kind::granted: return remote::is_of_attempt(call.why) && is_number(message.number);
    case Kind::busy: return remote::is_of_attempt(call.why);
    case Kind::queued: return call.why == Purpose::take && call.acquisition().request().wait;
    case Kind::expired: return call.why == Purpose::take;
    case Kind::released:
    case Kind::released_before:
    case Kind::absent: return remote::is_release(call.why);
    case Kind::renewed:
      return call.why == Purpose::renew && message.renewed.size() == call.renewal().items().size();
    case Kind::holder: return call.why == Purpose::question;
    case Kind::refused: return static_cast<bool>(message.why);
    case Kind::greeting:
    case Kind::handed_over: break;
  }
  return false;
}

}  // namespace

void Answers::answered(const Call& call, const Message& message) {
  if (!fits(call, message)) return nonsense(call);
  if (message.kind == Kind::refused) {
    Failure why = message.why;
    why.text = parts_.destination.where + ": " + why.text;
    return parts_.exchange.refused(call, why, remote::is_final(why));
  }
  if (message.kind == Kind::renewed) return renewed(call, message);
  parts_.server.identity.time().read(call.asked, message.now, parts_.clock.now());
  if (message.kind == Kind::holder) return asked(call, message);
  if (remote::is_release(call.why)) return released(call, message);
  about_attempt(call, message);
}

void Answers::about_attempt(const Call& call, const Message& message) {
  executed(call.attempt(), message);
  if (call.why == Purpose::look) return looked(call, message);
  message.kind == Kind::granted ? granted(call, message) : not_granted(call, message);
}

// The server has executed a request for the attempt. A request that was void has done nothing, so
// its answer shows no hold that a lost request took.
void Answers::executed(const AttemptId& attempt, const Message& message) {
  bool looks_later = message.kind == Kind::expired;
  if (!looks_later) {
    const std::lock_guard lock(parts_.mutex);
    looks_later = parts_.attempts.executed(attempt, message.now, parts_.server.identity.clock(),
                                           parts_.clock.now());
  }
  if (looks_later) parts_.polling.sooner();
}

// The attempt is decided. The server may have granted it again by a request that was lost, and no
// client would know of that hold.
void Answers::looked(const Call& call, const Message& message) {
  if (message.kind == Kind::busy) {
    return parts_.attempts.on(call.attempt(), [](auto& entry) { entry.course.settle(); });
  }
  remote::found(parts_.exchange, call.acquisition(), message.number);
}

void Answers::granted(const Call& call, const Message& message) {
  Acquisition& operation = call.acquisition();
  const Acquisition::Request& request = operation.request();
  const Grant grant = grant_of(request, message, call.asked);
  std::uint64_t noted = 0;
  {
    const std::lock_guard lock(parts_.mutex);
    noted = parts_.attempts.held(request.attempt, grant.number, call.asked,
                                 grant.counted_from + grant.lease);
  }
  remote::complete(parts_.exchange, parts_.attempts, operation, grant, noted);
}

void Answers::not_granted(const Call& call, const Message& message) {
  Acquisition& operation = call.acquisition();
  const Acquisition::Request& request = operation.request();
  if (message.kind == Kind::queued) return waits(call, message);
  if (call.why == Purpose::take) {
    const bool is_wanted = !parts_.attempts.ask(request.attempt, remote::is_given_up);
    if (message.kind == Kind::expired) {
      // The server did not look at it: an earlier request may wait there. If its caller has given
      // up, a request that takes the attempt back comes behind this one.
      if (is_wanted) parts_.exchange.ask(call.shared_acquisition());
      return;
    }
    // A server without a queue: the library asks again.
    if (is_wanted && request.wait) return waits(call, message);
  }
  operation.busy(message.holder);
  parts_.exchange.over(request.attempt);
}

void Answers::waits(const Call& call, const Message& message) {
  const std::shared_ptr<Acquisition> operation = call.shared_acquisition();
  const remote::Reading reading{call.asked, message.now, parts_.server.identity.clock()};
  const bool is_undecided = parts_.attempts.on(call.attempt(), [&](auto& entry) {
    if (!entry.course.is_undecided()) return false;
    entry.course.wait();
    entry.part_of_store().reading = reading;
    return true;
  });
  if (is_undecided) return operation->queued(message.holder);
  // Its hold ended at the server before this request for it came. So it is in the queue again, and
  // no caller waits for it.
  if (message.kind == Kind::queued) parts_.exchange.abandon(operation);
}

// An attempt that waits has an answer that came before: its hold counts from that reading of the
// server's clock.
void Answers::handed_over(const Message& message) {
  if (!is_number(message.number) || message.left <= std::chrono::nanoseconds(0)) {
    return parts_.connection.drop(
        {Errc::protocol, parts_.destination.where + ": the server sent an invalid push"});
  }
  enum class Sense : std::uint8_t { unwanted, known, unreadable, decides };
  std::shared_ptr<Acquisition> operation;
  Grant grant;
  const auto judge = [&](Attempts::Entry& entry) {
    AttemptCourse& course = entry.course;
    if (course.number() != 0) {
      const bool is_known = course.grant(message.number, {}) == AttemptCourse::Meaning::known;
      return is_known ? Sense::known : Sense::unwanted;
    }
    operation = entry.operation.lock();
    if (!course.is_undecided() || !operation) return Sense::unwanted;
    const Waiting& waiting = entry.part_of_store();
    if (!waiting.reading || waiting.reading->clock != parts_.server.identity.clock()) {
      return Sense::unreadable;
    }
    grant = grant_of(operation->request(), message, waiting.reading->not_later_than(message.now));
    course.grant(grant.number, grant.counted_from + grant.lease);
    return Sense::decides;
  };
  switch (parts_.attempts.on(message.attempt, judge)) {
    case Sense::known: return;
    case Sense::unreadable: return parts_.exchange.ask(operation);
    case Sense::decides:
      remote::complete(parts_.exchange, parts_.attempts, *operation, grant, grant.number);
      return parts_.exchange.look(message.attempt);
    case Sense::unwanted: break;
  }
  parts_.exchange.give_back(
      Release::undo({message.name, message.attempt, message.number, Mode::exclusive}),
      message.left);
}

void Answers::released(const Call& call, const Message& message) {
  Release& release = call.releasing();
  const HoldId& hold = release.hold();
  bool was_lost = false;
  {
    const std::lock_guard lock(parts_.mutex);
    was_lost = parts_.attempts.released(hold.attempt, hold.number);
  }
  // The answer is about one number only, so it ends no look at a lost take.
  parts_.exchange.look(hold.attempt);
  release.answered(remote::released_by(outcome_of(message.kind), was_lost));
}

void Answers::renewed(const Call& call, const Message& message) {
  Renewal& renewal = call.renewal();
  if (renewal.done()) return;
  std::vector<Renewal::Item>& items = renewal.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].answer = message.renewed[i];
    items[i].counted_from = call.asked;
    items[i].granted = items[i].lease;
  }
  parts_.attempts.renewed(items);
  renewal.answered();
}

void Answers::asked(const Call& call, const Message& message) {
  if (call.is_check) return static_cast<Check&>(*call.operation).answered();
  call.inspection().answered(message.holder);
}

void Answers::nonsense(const Call& call) {
  const Failure why(Errc::protocol,
                    parts_.destination.where + ": the server sent an invalid answer");
  parts_.exchange.misread(parts_.connection, call, why);
  parts_.connection.drop(why);
}

}  // namespace mortise::kit
