// SPDX-License-Identifier: MIT
// The server: what Redis' scripts do, in plain C++. Whose turn it is says store_turns.cpp.
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
    const bool its = held_by(entry, request.attempt) != nullptr;
    if (request.mode == Mode::once && !its) {
      answer.record = answer_to(*request.memory, request.name, entry);
    }
    if (answer.record) {
      // It is over with that, as after its release; a copy of it may be under way.
      if (queued != entry.queue.end()) entry.queue.erase(queued);
      leave_tombstone(entry, request.attempt, now);
    } else if (has_tombstone(entry, request.attempt)) {
      answer.refused = true;
    } else if (its) {
      // It is said again: the answer is the same.
    } else if (request.mode == Mode::permit && differs(entry, request)) {
      answer.permits = entry.permits;
    } else if (may_take(entry, request)) {
      if (queued != entry.queue.end()) entry.queue.erase(queued);
      give(entry, request, now, request.lease);
    } else if (queued != entry.queue.end()) {
      queued->last_contact = now;
    } else if (request.wait) {
      entry.queue.push_back({request.attempt, request.label, request.lease, from, now,
                             request.memory, request.mode, now});
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

void Store::tell_grant(Name& entry, const Acquisition::Request& request, Instant now,
                       Answer& answer) const {
  const Held* const held = held_by(entry, request.attempt);
  if (held == nullptr) {
    answer.holder = holder_of(entry, now);
    return;
  }
  answer.grant = held->grant;
  if (request.mode == Mode::once) answer.run = remembered_.find(request.name)->run;
}

Released Store::release(const HoldId& hold, Ends ends, const Conclusion* conclusion) {
  Pushes pushes;
  Released outcome = Released::was_lost;
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    const Instant now = clock_->now();
    Name& entry = settled(hold.name, hold.mode, now, pushes);
    if (ends != Ends::by_force) leave_tombstone(entry, hold.attempt, now);
    const Held* const its = held_by(entry, hold.attempt);
    const bool exact = its != nullptr && its->grant.number == hold.number;
    const bool later = its != nullptr && hold.number > 0 && its->grant.number > hold.number;
    if (exact) outcome = Released::released;
    if (conclusion != nullptr && (exact || base::mutant("memory.record_after_the_loss"))) {
      remembered_.conclude(hold, *conclusion, now);
      outcome = Released::released;
    } else if (conclusion != nullptr && remembered_.concluded_by(hold) &&
               !base::mutant("memory.writer_is_not_remembered")) {
      outcome = Released::released;  // the reply to that was lost
    }
    if (exact || (later && ends == Ends::attempt)) {
      end(entry, hold.attempt);
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

Store::Renewed Store::renew(const HoldId& hold, std::chrono::nanoseconds lease) {
  Pushes pushes;
  Renewed renewed;
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    const Instant now = clock_->now();
    Name& entry = settled(hold.name, hold.mode, now, pushes);
    Held* const held = held_by(entry, hold.attempt);
    renewed.stands = held != nullptr && held->grant.number == hold.number;
    if (renewed.stands) held->expires = now + lease;
    // Readers that wait beside readers do so because of whom they wait behind.
    renewed.wanted = !entry.queue.empty();
    erase_if_idle(hold.name, hold.mode);
  }
  deliver(pushes);
  return renewed;
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

std::shared_ptr<const Record> Store::answer_to(const Memory& asked, const std::string& key,
                                               const Name& entry) const {
  std::shared_ptr<const Record> record = remembered_.find(key);
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
  entry.tombstones.remove_if([now](const auto& tombstone) { return tombstone.second < now; });
  entry.tombstones.emplace_front(attempt, now + tombstone_time);
}

bool Store::has_tombstone(const Name& entry, const AttemptId& attempt) {
  return std::any_of(entry.tombstones.begin(), entry.tombstones.end(),
                     [&](const auto& tombstone) { return tombstone.first == attempt; });
}

std::optional<Holder> Store::holder_of(const Name& entry, Instant now) {
  if (!entry.held && entry.sharing.empty()) return std::nullopt;
  const Held& held = entry.held ? *entry.held : entry.sharing.front();
  return Holder{
      .label = held.label,
      .token = Token(held.grant.number * core::tokens_in_a_grant),
      .expires_in = std::chrono::duration_cast<std::chrono::milliseconds>(held.expires - now),
      .waiters = entry.queue.size(),
      .mode = entry.held           ? Mode::exclusive
              : entry.permits == 0 ? Mode::shared
                                   : Mode::permit};
}

void Store::erase_if_idle(const std::string& name, Mode mode) {
  const auto found = names(mode).find(name);
  if (found == names(mode).end()) return;
  const Name& entry = found->second;
  const bool held = entry.held || !entry.sharing.empty();
  if (!held && entry.queue.empty() && entry.tombstones.empty()) names(mode).erase(found);
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
  semaphores_.clear();
  remembered_.forget_all();
}

void Store::drop(std::string_view name, Mode mode) {
  const std::lock_guard lock(mutex_);
  const auto found = names(mode).find(std::string(name));
  if (found == names(mode).end()) return;
  if (mode != Mode::shared) found->second.held.reset();
  found->second.sharing.clear();
}

std::uint64_t Store::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t Store::waiters() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const Mode mode : {Mode::exclusive, Mode::once, Mode::permit}) {
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
  if (found == names(mode).end()) return std::nullopt;
  Name entry{.held = found->second.held, .sharing = found->second.sharing};
  expire(entry, now);
  std::optional<Holder> holder = holder_of(entry, now);
  if (holder) holder->waiters = found->second.queue.size();
  return holder;
}

}  // namespace mortise::memory
