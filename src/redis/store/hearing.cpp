// SPDX-License-Identifier: MIT
// A subscription that outlives its reason costs each release a few milliseconds, and one that is
// missing costs a waiter a second; both came of two threads whose words overtook each other.
#include "redis/store/hearing.hpp"

#include "base/mutant.hpp"

#include <utility>

namespace mortise::redis {

std::string redisson_channel(std::string_view name) {
  return "redisson_lock__channel:{" + std::string(name) + "}";
}

void Hearing::wait(const std::string& name) {
  change(name, [](Reason& reason) { reason.waits = true; });
}

void Hearing::stop_waiting(const std::string& name) {
  change(name, [](Reason& reason) { reason.waits = false; });
}

void Hearing::hold(const HoldId& hold) {
  change(hold.name, [&](Reason& reason) { reason.hold = hold; });
}

void Hearing::stop_holding(const HoldId& hold) {
  change(hold.name, [&](Reason& reason) {
    if (reason.hold && reason.hold->attempt == hold.attempt && reason.hold->number == hold.number) {
      reason.hold.reset();
    }
  });
}

void Hearing::change(const std::string& name, const std::function<void(Reason&)>& how) {
  const std::string channel = redisson_channel(name);
  // Until it is said: one thread stood still between the two, another one's UNSUBSCRIBE overtook
  // its SUBSCRIBE, and from then on each release kept the lock for a waiter of Redisson that was
  // none.
  std::unique_lock order(order_, std::defer_lock);
  if (!base::mutant("redis.subscriptions_overtake")) order.lock();
  bool begins = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find(channel);
    Reason reason = found == channels_.end() ? Reason{.name = name} : found->second;
    how(reason);
    begins = reason.any();
    if (begins == (found != channels_.end())) {
      if (begins) found->second = std::move(reason);
      return;
    }
    if (begins) {
      channels_.emplace(channel, std::move(reason));
    } else {
      ++left_[channel];  // first: there may be no memory for it
      channels_.erase(found);
    }
  }
  if (say_(begins, channel)) return;
  if (!begins) return ended(channel);  // with the connection
  const std::lock_guard lock(mutex_);
  channels_.erase(channel);
}

bool Hearing::waits(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = channels_.find(redisson_channel(name));
  return found != channels_.end() && found->second.waits;
}

// Of whoever waits first the server knows that it listens.
bool Hearing::is_still_counted(const std::string& name) const {
  if (base::mutant("redis.hears_itself")) return false;
  const std::string channel = redisson_channel(name);
  const std::lock_guard lock(mutex_);
  const auto found = channels_.find(channel);
  return found == channels_.end() ? left_.contains(channel) : !found->second.waits;
}

std::optional<std::string> Hearing::waited_for(const std::string& channel) const {
  const std::lock_guard lock(mutex_);
  const auto found = channels_.find(channel);
  if (found == channels_.end() || !found->second.waits) return std::nullopt;
  return found->second.name;
}

std::optional<HoldId> Hearing::held(const std::string& channel) const {
  const std::lock_guard lock(mutex_);
  const auto found = channels_.find(channel);
  return found == channels_.end() ? std::nullopt : found->second.hold;
}

void Hearing::ended(const std::string& channel) {
  const std::lock_guard lock(mutex_);
  const auto found = left_.find(channel);
  if (found == left_.end()) return;
  if (--found->second == 0) left_.erase(found);
}

void Hearing::forget() {
  const std::lock_guard order(order_);
  const std::lock_guard lock(mutex_);
  channels_.clear();
  left_.clear();
}

}  // namespace mortise::redis
