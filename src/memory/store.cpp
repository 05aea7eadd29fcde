// SPDX-License-Identifier: MIT
// The server: what Redis' scripts do, in plain C++.
#include "memory/store.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "core/verdict.hpp"
#include "memory/link.hpp"

#include <algorithm>

namespace mortise::memory {
namespace {

// A message is not older than this when it arrives; longer than any simulated delay and time-out.
constexpr std::chrono::seconds tombstone_time{60};
// A waiter that asks each fallback period has been silent for three of them: it is dead.
constexpr std::chrono::nanoseconds silence = core::fallback_period * 3;

}  // namespace

Answer Store::acquire(const Acquisition::Request& request, const std::shared_ptr<Link>& from) {
  Pushes pushes;
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    const Instant now = clock_->now();
    answer.server_time = now;
    Name& entry = settled(request.name, request.mode, now, pushes);
    const auto queued = std::find_if(entry.queue.begin(), entry.queue.end(),
                                     [&](const Queued& q) { return q.attempt == request.attempt; });
    const bool its = entry.held && entry.held->grant.attempt == request.attempt;
    if (request.mode == Mode::once && !its) {
      answer.record = answer_to(*request.memory, request.name, entry);
    }
    if (answer.record) {
      // It is over with that, as after its release; a copy of it may be under way.
      if (queued != entry.queue.end()) entry.queue.erase(queued);
      leave_tombstone(entry, request.attempt, now);
    } else if (has_tombstone(entry, request.attempt)) {
      answer.refused = true;
    } else if ((!entry.held || base::mutant("memory.two_runners")) && entry.queue.empty()) {
      give(entry, request, now, request.lease);
    } else if (queued != entry.queue.end()) {
      queued->last_contact = now;
    } else if (request.wait && (!entry.held || entry.held->grant.attempt != request.attempt)) {
      entry.queue.push_back(
          {request.attempt, request.label, request.lease, from, now, request.memory, now});
    }
    tell_grant(entry, request, now, answer);
    if (request.mode == Mode::once) sweep(now, pushes);
    erase_if_idle(request.name, request.mode);
  }
  deliver(pushes);
  return answer;
}

Answer Store::cancel(const Acquisition::Request& request) {
  Pushes pushes;
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    const Instant now = clock_->now();
    answer.server_time = now;
    // Out of the queue before the name is settled: a waiter that leaves is not handed the name.
    std::erase_if(names(request.mode)[request.name].queue,
                  [&](const Queued& q) { return q.attempt == request.attempt; });
    Name& entry = settled(request.name, request.mode, now, pushes);
    tell_grant(entry, request, now, answer);
    if (!answer.grant) leave_tombstone(entry, request.attempt, now);
    erase_if_idle(request.name, request.mode);
  }
  deliver(pushes);
  return answer;
}

void Store::tell_grant(const Name& entry, const Acquisition::Request& request, Instant now,
                       Answer& answer) const {
  if (!entry.held || entry.held->grant.attempt != request.attempt) {
    answer.holder = holder_of(entry, now);
    return;
  }
  answer.grant = entry.held->grant;
  if (request.mode == Mode::once) answer.run = remembered_.find(request.name)->run;
}

Released Store::release(const HoldId& hold, bool grant_only, const Conclusion* conclusion) {
  Pushes pushes;
  Released outcome = Released::was_lost;
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    const Instant now = clock_->now();
    Name& entry = settled(hold.name, hold.mode, now, pushes);
    leave_tombstone(entry, hold.attempt, now);
    const bool its = entry.held && entry.held->grant.attempt == hold.attempt;
    const bool exact = its && entry.held->grant.number == hold.number;
    const bool later = its && hold.number > 0 && entry.held->grant.number > hold.number;
    if (exact) outcome = Released::released;
    if (conclusion != nullptr && (exact || base::mutant("memory.record_after_the_loss"))) {
      remembered_.conclude(hold, *conclusion, now);
      outcome = Released::released;
    } else if (conclusion != nullptr && remembered_.concluded_by(hold) &&
               !base::mutant("memory.writer_is_not_remembered")) {
      outcome = Released::released;  // the reply to that was lost
    }
    if (exact || (later && !grant_only)) {
      entry.held.reset();
      // First all whom an outcome answers, then the next run: who waited behind that is answered,
      // too.
      if (hold.mode == Mode::once) tell_those_who_wait(entry, hold.name, now, pushes);
      hand_over(entry, hold.name, hold.mode, now, pushes);
    }
    if (hold.mode == Mode::once) sweep(now, pushes);
    erase_if_idle(hold.name, hold.mode);
  }
  deliver(pushes);
  return outcome;
}

bool Store::renew(const HoldId& hold, std::chrono::nanoseconds lease) {
  Pushes pushes;
  bool stands = false;
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    const Instant now = clock_->now();
    Name& entry = settled(hold.name, hold.mode, now, pushes);
    stands = entry.held && entry.held->grant.attempt == hold.attempt &&
             entry.held->grant.number == hold.number;
    if (stands) entry.held->expires = now + lease;
    erase_if_idle(hold.name, hold.mode);
  }
  deliver(pushes);
  return stands;
}

std::optional<Holder> Store::inspect(const std::string& name) {
  Pushes pushes;
  std::optional<Holder> holder;
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    const Instant now = clock_->now();
    holder = holder_of(settled(name, Mode::exclusive, now, pushes), now);
    erase_if_idle(name, Mode::exclusive);
  }
  deliver(pushes);
  return holder;
}

std::shared_ptr<const Record> Store::recall(const std::string& key, Recollection::Kind kind) {
  Pushes pushes;
  std::shared_ptr<const Record> record;
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    const Instant now = clock_->now();
    const Name& entry = settled(key, Mode::once, now, pushes);
    record = remembered_.find(key);
    if (!record) record = std::make_shared<const Record>();
    if (entry.held) {
      Record held = *record;
      held.held = true;
      record = std::make_shared<const Record>(std::move(held));
    }
    const bool free = !entry.held || base::mutant("memory.forget_a_pending_key");
    if (kind == Recollection::Kind::forget && free) remembered_.forget(key);
    sweep(now, pushes);
    erase_if_idle(key, Mode::once);
  }
  deliver(pushes);
  return record;
}

Store::Name& Store::settled(const std::string& name, Mode mode, Instant now, Pushes& pushes) {
  Name& entry = names(mode)[name];
  if (entry.held && now >= entry.held->expires) entry.held.reset();
  if (mode == Mode::once && !entry.held) remembered_.expire(name, now);
  if (!entry.held) hand_over(entry, name, mode, now, pushes);
  return entry;
}

void Store::hand_over(Name& entry, const std::string& name, Mode mode, Instant now,
                      Pushes& pushes) {
  while (!entry.held && !entry.queue.empty()) {
    const Queued next = std::move(entry.queue.front());
    entry.queue.pop_front();
    std::shared_ptr<Link> link = next.link.lock();
    // Its client is gone, or has stopped asking: the next one's turn.
    if (!link || now - next.last_contact > silence) continue;
    if (mode == Mode::once) {
      if (auto record = answer_to(*next.memory, name, entry)) {
        leave_tombstone(entry, next.attempt, now);
        pushes.push_back({.to = std::move(link),
                          .name = name,
                          .mode = mode,
                          .grant = {.attempt = next.attempt},
                          .record = std::move(record)});
        continue;
      }
    }
    const std::uint64_t run = give(entry,
                                   {.attempt = next.attempt,
                                    .name = name,
                                    .mode = mode,
                                    .lease = next.lease,
                                    .label = next.label,
                                    .memory = next.memory},
                                   now, core::provisional_lease(next.lease));
    pushes.push_back({.to = std::move(link),
                      .name = name,
                      .mode = mode,
                      .grant = entry.held->grant,
                      .run = run});
  }
}

std::uint64_t Store::give(Name& entry, const Acquisition::Request& request, Instant now,
                          std::chrono::nanoseconds lease) {
  const auto microseconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count());
  last_number_ = std::max(last_number_ + 1, microseconds);
  entry.held = Held{.grant = {.attempt = request.attempt,
                              .number = last_number_,
                              .granted_at = now,
                              .lease = lease},
                    .label = request.label,
                    .expires = now + lease};
  if (request.mode != Mode::once) return 0;
  return remembered_.begin(request, last_number_, now);
}

std::shared_ptr<const Record> Store::answer_to(const Memory& asked, const std::string& key,
                                               const Name& entry) const {
  const std::shared_ptr<const Record> record = remembered_.find(key);
  if (!record) return nullptr;
  Record seen{.state = record->state,
              .run = record->run,
              .number = record->number,
              .fingerprint = record->fingerprint,
              .held = entry.held.has_value()};
  switch (core::judge(asked, seen)) {
    case core::Verdict::run:
    case core::Verdict::wait: break;
    case core::Verdict::replay: return record;
    // Not the bytes: they are another's.
    case core::Verdict::mismatch: return std::make_shared<const Record>(std::move(seen));
  }
  return nullptr;
}

void Store::tell_those_who_wait(Name& entry, const std::string& key, Instant now, Pushes& pushes) {
  std::erase_if(entry.queue, [&](const Queued& each) {
    std::shared_ptr<const Record> record = answer_to(*each.memory, key, entry);
    if (!record) return false;
    leave_tombstone(entry, each.attempt, now);
    if (std::shared_ptr<Link> link = each.link.lock()) {
      pushes.push_back({.to = std::move(link),
                        .name = key,
                        .mode = Mode::once,
                        .grant = {.attempt = each.attempt},
                        .record = std::move(record)});
    }
    return true;
  });
}

void Store::sweep(Instant now, Pushes& pushes) {
  for (const std::string& key : remembered_.some_that_are_over(now)) {
    settled(key, Mode::once, now, pushes);
    erase_if_idle(key, Mode::once);
  }
}

void Store::leave_tombstone(Name& entry, const AttemptId& attempt, Instant now) const {
  // Only a network that delays messages can bring an attempt back after its end; so can one that
  // did, by what is still under way when it is mended.
  if (!has_been_faulty_) return;
  while (!entry.tombstones.empty() && entry.tombstones.front().second < now) {
    entry.tombstones.pop_front();
  }
  entry.tombstones.emplace_back(attempt, now + tombstone_time);
}

bool Store::has_tombstone(const Name& entry, const AttemptId& attempt) {
  return std::any_of(entry.tombstones.begin(), entry.tombstones.end(),
                     [&](const auto& tombstone) { return tombstone.first == attempt; });
}

std::optional<Holder> Store::holder_of(const Name& entry, Instant now) {
  if (!entry.held) return std::nullopt;
  return Holder{.label = entry.held->label,
                .token = Token(entry.held->grant.number * core::tokens_in_a_grant),
                .expires_in = std::chrono::duration_cast<std::chrono::milliseconds>(
                    entry.held->expires - now),
                .waiters = entry.queue.size()};
}

void Store::erase_if_idle(const std::string& name, Mode mode) {
  const auto found = names(mode).find(name);
  if (found == names(mode).end()) return;
  const Name& entry = found->second;
  if (!entry.held && entry.queue.empty() && entry.tombstones.empty()) names(mode).erase(found);
}

// Without the mutex: a push that is not delayed runs the client's code on this thread.
void Store::deliver(const Pushes& pushes) {
  for (const Push& push : pushes) push.to->push(push);
}

std::optional<std::chrono::nanoseconds> Store::send(Message kind) {
  if (kind == Message::push) ++pushes_;
  if (!reachable_) return std::nullopt;
  if (!faulty_) return std::chrono::nanoseconds(0);
  const std::lock_guard lock(mutex_);
  const double loss = kind == Message::request ? faults_.lose_request
                      : kind == Message::reply ? faults_.lose_reply
                                               : faults_.lose_push;
  if (random_.unit() < loss) return std::nullopt;
  const auto range = static_cast<double>((faults_.delay_max - faults_.delay_min).count());
  return faults_.delay_min +
         std::chrono::nanoseconds(static_cast<std::int64_t>(random_.unit() * range));
}

void Store::set_faults(const Faults& faults) {
  const std::lock_guard lock(mutex_);
  faults_ = faults;
  faulty_ = faults.delay_max.count() > 0 || faults.lose_request > 0 || faults.lose_reply > 0 ||
            faults.lose_push > 0;
  has_been_faulty_ = has_been_faulty_ || faulty_;
  random_ = base::SplitMix(faults.seed);
}

void Store::set_reachable(bool reachable) { reachable_ = reachable; }

void Store::restart() {
  const std::lock_guard lock(mutex_);
  locks_.clear();
  keys_.clear();
  remembered_.forget_all();
}

void Store::drop(std::string_view name, Mode mode) {
  const std::lock_guard lock(mutex_);
  const auto found = names(mode).find(std::string(name));
  if (found != names(mode).end()) found->second.held.reset();
}

std::uint64_t Store::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t Store::waiters() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const Mode mode : {Mode::exclusive, Mode::once}) {
    for (const auto& [name, entry] : names(mode)) sum += entry.queue.size();
  }
  return sum;
}

std::size_t Store::remembered() const {
  const std::lock_guard lock(mutex_);
  return remembered_.size();
}

std::optional<Holder> Store::holder(std::string_view name, Mode mode) const {
  const std::lock_guard lock(mutex_);
  const Instant now = clock_->now();
  const auto found = names(mode).find(std::string(name));
  if (found == names(mode).end() || !found->second.held) return std::nullopt;
  return now < found->second.held->expires ? holder_of(found->second, now) : std::nullopt;
}

}  // namespace mortise::memory
