// SPDX-License-Identifier: MIT
// The server: what Redis' scripts do, in plain C++.
#include "memory/store.hpp"

#include "core/figures.hpp"
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
    Name& entry = settled(request.name, now, pushes);
    const auto queued = std::find_if(entry.queue.begin(), entry.queue.end(),
                                     [&](const Queued& q) { return q.attempt == request.attempt; });
    if (has_tombstone(entry, request.attempt)) {
      answer.refused = true;
    } else if (!entry.held && entry.queue.empty()) {
      give(entry, request, now, request.lease);
    } else if (queued != entry.queue.end()) {
      queued->last_contact = now;
    } else if (request.wait && (!entry.held || entry.held->grant.attempt != request.attempt)) {
      entry.queue.push_back({request.attempt, request.label, request.lease, from, now});
    }
    if (entry.held && entry.held->grant.attempt == request.attempt) {
      answer.grant = entry.held->grant;
    } else {
      answer.holder = holder_of(entry, now);
    }
    erase_if_idle(request.name);
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
    std::erase_if(names_[request.name].queue,
                  [&](const Queued& q) { return q.attempt == request.attempt; });
    Name& entry = settled(request.name, now, pushes);
    if (entry.held && entry.held->grant.attempt == request.attempt) {
      answer.grant = entry.held->grant;
    } else {
      leave_tombstone(entry, request.attempt, now);
      answer.holder = holder_of(entry, now);
    }
    erase_if_idle(request.name);
  }
  deliver(pushes);
  return answer;
}

Released Store::release(const HoldId& hold, bool grant_only) {
  Pushes pushes;
  Released outcome = Released::was_lost;
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    const Instant now = clock_->now();
    Name& entry = settled(hold.name, now, pushes);
    leave_tombstone(entry, hold.attempt, now);
    const bool its = entry.held && entry.held->grant.attempt == hold.attempt;
    const bool exact = its && entry.held->grant.number == hold.number;
    const bool later = its && hold.number > 0 && entry.held->grant.number > hold.number;
    if (exact || (later && !grant_only)) {
      entry.held.reset();
      if (exact) outcome = Released::released;
      hand_over(entry, hold.name, now, pushes);
    }
    erase_if_idle(hold.name);
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
    Name& entry = settled(hold.name, now, pushes);
    stands = entry.held && entry.held->grant.attempt == hold.attempt &&
             entry.held->grant.number == hold.number;
    if (stands) entry.held->expires = now + lease;
    erase_if_idle(hold.name);
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
    holder = holder_of(settled(name, now, pushes), now);
    erase_if_idle(name);
  }
  deliver(pushes);
  return holder;
}

Store::Name& Store::settled(const std::string& name, Instant now, Pushes& pushes) {
  Name& entry = names_[name];
  if (entry.held && now >= entry.held->expires) entry.held.reset();
  if (!entry.held) hand_over(entry, name, now, pushes);
  return entry;
}

void Store::hand_over(Name& entry, const std::string& name, Instant now, Pushes& pushes) {
  while (!entry.held && !entry.queue.empty()) {
    const Queued next = std::move(entry.queue.front());
    entry.queue.pop_front();
    std::shared_ptr<Link> link = next.link.lock();
    // Its client is gone, or has stopped asking: the next one's turn.
    if (!link || now - next.last_contact > silence) continue;
    give(entry, {.attempt = next.attempt, .name = name, .lease = next.lease, .label = next.label},
         now, core::provisional_lease(next.lease));
    pushes.push_back({std::move(link), name, entry.held->grant});
  }
}

void Store::give(Name& entry, const Acquisition::Request& request, Instant now,
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

void Store::erase_if_idle(const std::string& name) {
  const auto found = names_.find(name);
  const Name& entry = found->second;
  if (!entry.held && entry.queue.empty() && entry.tombstones.empty()) names_.erase(found);
}

// Without the mutex: a push that is not delayed runs the client's code on this thread.
void Store::deliver(const Pushes& pushes) {
  for (const Push& push : pushes) push.to->push(push.name, push.grant);
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
  names_.clear();
}

void Store::drop(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(std::string(name));
  if (found != names_.end()) found->second.held.reset();
}

std::uint64_t Store::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t Store::waiters() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [name, entry] : names_) sum += entry.queue.size();
  return sum;
}

std::optional<Holder> Store::holder(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const Instant now = clock_->now();
  const auto found = names_.find(std::string(name));
  if (found == names_.end() || !found->second.held) return std::nullopt;
  return now < found->second.held->expires ? holder_of(found->second, now) : std::nullopt;
}

}  // namespace mortise::memory
