// SPDX-License-Identifier: MIT
// The work of Redis' scripts, in plain C++. `Name` decides whose turn it is.
#include "memory/store.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "core/verdict.hpp"
#include "memory/link.hpp"

#include <algorithm>
#include <utility>

namespace mortise::memory {

template <class Request>
void Store::visit(const std::string& name, Mode mode, Request request) {
  std::vector<Push> pushes;
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    NameTable& names = names_of(*this, mode);
    const Instant now = clock_->now();
    request(
        Visit{.text = name, .mode = mode, .name = names.at(name), .now = now, .pushes = pushes});
    if (mode == Mode::once) sweep(now, pushes);
    names.erase_if_idle(name);
  }
  // Without the mutex: a push that is not delayed runs the client's code on this thread.
  for (const Push& push : pushes) push.to->push(push);
}

Answer Store::acquire(const Acquisition::Request& request, const std::shared_ptr<Link>& from) {
  Answer result;
  visit(request.name, request.mode, [&](const Visit& at) {
    settle(at);
    Name& name = at.name;
    const bool holds = name.held_by(request.attempt) != nullptr;
    if (request.mode == Mode::once && !holds) result.record = record_for(request, name);
    if (result.record) {
      // The attempt is over with that, as after its release; a copy of it may be under way.
      name.leave(request.attempt);
      leave_tombstone(at, request.attempt);
    } else if (name.has_tombstone(request.attempt)) {
      result.refused = true;
    } else if (holds) {
      // A copy of the request: the answer is the same.
    } else if (request.mode == Mode::permit && !name.has_permits(request.permits)) {
      result.permits = name.permits;
    } else if (name.may_take(request)) {
      name.leave(request.attempt);
      grant(at, request, request.lease);
    } else if (Name::Waiter* const waiter = name.waiter(request.attempt)) {
      waiter->last_contact = at.now;
    } else if (request.wait) {
      name.queue.push_back(
          {.request = request, .link = from, .since = at.now, .last_contact = at.now});
    }
    answer(at, request, result);
  });
  return result;
}

Answer Store::cancel(const Acquisition::Request& request) {
  Answer result;
  visit(request.name, request.mode, [&](const Visit& at) {
    // Out of the queue before the name is settled: a waiter that leaves is not handed the name.
    at.name.leave(request.attempt);
    settle(at);
    answer(at, request, result);
    if (!result.grant) leave_tombstone(at, request.attempt);
  });
  return result;
}

void Store::answer(const Visit& at, const Acquisition::Request& request, Answer& answer) const {
  answer.server_time = at.now;
  const Name::Held* const held = at.name.held_by(request.attempt);
  if (held == nullptr) {
    answer.holder = at.name.holder(at.now);
    return;
  }
  answer.grant = held->grant;
  if (request.mode == Mode::once) answer.run = remembered_.find(request.name)->run;
}

Released Store::release(const HoldId& hold, Ends ends, const Conclusion* conclusion) {
  Released outcome = Released::was_lost;
  visit(hold.name, hold.mode, [&](const Visit& at) {
    settle(at);
    if (ends != Ends::by_force) leave_tombstone(at, hold.attempt);
    const Name::Held* const its = at.name.held_by(hold.attempt);
    const bool exact = its != nullptr && its->grant.number == hold.number;
    const bool later = its != nullptr && hold.number > 0 && its->grant.number > hold.number;
    if (exact) outcome = Released::released;
    if (conclusion != nullptr && (exact || base::mutant("memory.record_after_the_loss"))) {
      remembered_.conclude(hold, *conclusion, at.now);
      outcome = Released::released;
    } else if (conclusion != nullptr && remembered_.concluded_by(hold) &&
               !base::mutant("memory.writer_is_not_remembered")) {
      outcome = Released::released;  // the reply to that was lost
    }
    if (!exact && (!later || ends != Ends::attempt)) return;
    at.name.end(hold.attempt);
    // The outcome answers waiters that are behind the next runner as well.
    if (hold.mode == Mode::once) push_records(at);
    hand_over(at);
  });
  return outcome;
}

Store::Renewed Store::renew(const HoldId& hold, std::chrono::nanoseconds lease) {
  Renewed renewed;
  visit(hold.name, hold.mode, [&](const Visit& at) {
    settle(at);
    Name::Held* const held = at.name.held_by(hold.attempt);
    renewed.stands = held != nullptr && held->grant.number == hold.number;
    if (renewed.stands) held->expires = at.now + lease;
    // Readers that wait although other readers hold the name wait behind a writer.
    renewed.wanted = !at.name.queue.empty();
  });
  return renewed;
}

std::optional<Holder> Store::inspect(const std::string& name) {
  std::optional<Holder> holder;
  visit(name, Mode::exclusive, [&](const Visit& at) {
    settle(at);
    holder = at.name.holder(at.now);
  });
  return holder;
}

std::shared_ptr<const Record> Store::recall(const std::string& key, Recollection::Kind kind) {
  std::shared_ptr<const Record> record;
  visit(key, Mode::once, [&](const Visit& at) {
    settle(at);
    record = remembered_.find(key);
    if (!record) record = std::make_shared<const Record>();
    if (at.name.held) {
      Record held = *record;
      held.held = true;
      record = std::make_shared<const Record>(std::move(held));
    }
    const bool free = !at.name.held || base::mutant("memory.forget_a_pending_key");
    if (kind == Recollection::Kind::forget && free) remembered_.forget(key);
  });
  return record;
}

NamePage Store::list(const Listing& asked) {
  std::unique_lock lock(mutex_);
  ++requests_;
  return names_of(*this, asked.mode()).list(asked, *clock_, lock);
}

NameQueue Store::queue(const QueueLook& asked, std::vector<HoldMark>& marks) {
  const std::lock_guard lock(mutex_);
  ++requests_;
  return names_of(*this, asked.mode()).queue(asked, clock_->now(), marks);
}

void Store::settle(const Visit& at) {
  at.name.expire(at.now);
  if (at.mode == Mode::once && !at.name.held) remembered_.expire(at.text, at.now);
  if (!at.name.held) hand_over(at);
}

void Store::hand_over(const Visit& at) {
  while (std::optional<Name::Waiter> next = at.name.next(at.now)) {
    std::shared_ptr<Link> link = next->link.lock();
    if (!link) continue;
    const Acquisition::Request& request = next->request;
    Push push{.to = std::move(link),
              .name = at.text,
              .mode = request.mode,
              .grant = {.attempt = request.attempt}};
    if (at.mode == Mode::once) push.record = record_for(request, at.name);
    if (push.record) {
      leave_tombstone(at, request.attempt);
    } else {
      push.run = grant(at, request, core::provisional_lease(request.lease));
      push.grant = at.name.held_by(request.attempt)->grant;
    }
    at.pushes.push_back(std::move(push));
  }
}

std::uint64_t Store::grant(const Visit& at, const Acquisition::Request& request,
                           std::chrono::nanoseconds lease) {
  const auto microseconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(at.now.time_since_epoch()).count());
  last_number_ = std::max(last_number_ + 1, microseconds);
  const bool ahead =
      request.mode == Mode::shared && base::mutant("memory.number_of_a_reader_runs_ahead");
  Name::Held held{.grant = {.attempt = request.attempt,
                            .number = last_number_ + (ahead ? 1'000'000 : 0),
                            .granted_at = at.now,
                            .lease = lease},
                  .label = request.label,
                  .expires = at.now + lease};
  // Before the hold: there is none without a record, even if memory runs out in between.
  const std::uint64_t run =
      request.mode == Mode::once ? remembered_.begin(request, last_number_, at.now) : 0;
  at.name.hold(std::move(held), request.mode);
  return run;
}

std::shared_ptr<const Record> Store::record_for(const Acquisition::Request& request,
                                                const Name& name) const {
  std::shared_ptr<const Record> record = remembered_.find(request.name);
  if (!record) return nullptr;
  Record seen{.state = record->state,
              .run = record->run,
              .number = record->number,
              .fingerprint = record->fingerprint,
              .held = name.held.has_value()};
  switch (core::judge(*request.memory, seen)) {
    case core::Verdict::run:
    case core::Verdict::wait: break;
    case core::Verdict::replay: return record;
    // Not the bytes: they are another's.
    case core::Verdict::mismatch: return std::make_shared<const Record>(std::move(seen));
  }
  return nullptr;
}

void Store::push_records(const Visit& at) {
  std::erase_if(at.name.queue, [&](const Name::Waiter& each) {
    std::shared_ptr<const Record> record = record_for(each.request, at.name);
    if (!record) return false;
    leave_tombstone(at, each.request.attempt);
    if (std::shared_ptr<Link> link = each.link.lock()) {
      at.pushes.push_back({.to = std::move(link),
                           .name = at.text,
                           .mode = Mode::once,
                           .grant = {.attempt = each.request.attempt},
                           .record = std::move(record)});
    }
    return true;
  });
}

void Store::sweep(Instant now, std::vector<Push>& pushes) {
  for (const std::string& key : remembered_.some_that_are_over(now)) {
    settle({.text = key, .mode = Mode::once, .name = keys_.at(key), .now = now, .pushes = pushes});
    keys_.erase_if_idle(key);
  }
}

void Store::leave_tombstone(const Visit& at, const AttemptId& attempt) const {
  if (network_.delivers_late()) at.name.leave_tombstone(attempt, at.now);
}

void Store::restart() {
  const std::lock_guard lock(mutex_);
  locks_.clear();
  keys_.clear();
  semaphores_.clear();
  remembered_.forget_all();
}

void Store::drop(std::string_view name, Mode mode) {
  const std::lock_guard lock(mutex_);
  Name* const found = names_of(*this, mode).find(std::string(name));
  if (found == nullptr) return;
  if (mode != Mode::shared) found->held.reset();
  found->sharing.clear();
}

std::uint64_t Store::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t Store::waiters() const {
  const std::lock_guard lock(mutex_);
  return locks_.waiters() + keys_.waiters() + semaphores_.waiters();
}

std::size_t Store::remembered() const {
  const std::lock_guard lock(mutex_);
  return remembered_.size();
}

std::optional<Holder> Store::holder(std::string_view name, Mode mode) const {
  const std::lock_guard lock(mutex_);
  const Instant now = clock_->now();
  const Name* const found = names_of(*this, mode).find(std::string(name));
  if (found == nullptr) return std::nullopt;
  Name look{.held = found->held, .sharing = found->sharing};
  look.expire(now);
  std::optional<Holder> holder = look.holder(now);
  if (holder) holder->waiters = found->queue.size();
  return holder;
}

}  // namespace mortise::memory
