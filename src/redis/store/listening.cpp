// SPDX-License-Identifier: MIT
// A subscription is kept for a while after its waiter was served: the next one of the same name is
// as near, as a rule, and then needs no round trip more.
#include "redis/store/listening.hpp"

#include <chrono>
#include <iterator>
#include <utility>

namespace mortise::redis {
namespace {

// Whoever waits asks each second.
constexpr std::chrono::seconds kept{30};

}  // namespace

void Listening::wait(const std::string& name, Instant now) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(name);
  if (found != names_.end()) {
    found->second.wanted = now;
    return;
  }
  sweep_locked(now);
  const auto added = names_.emplace(name, State{.wanted = now}).first;
  if (!say_(true, name)) names_.erase(added);
}

// With the next one that begins; so those of names that nobody waits for stay until then, and cost
// the server their memory.
void Listening::sweep_locked(Instant now) {
  if (now - swept_ < kept) return;
  swept_ = now;
  for (auto each = names_.begin(); each != names_.end();) {
    const auto next = std::next(each);
    if (now - each->second.wanted > kept && say_(false, each->first)) names_.erase(each);
    each = next;
  }
}

std::optional<Instant> Listening::since(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(name);
  return found == names_.end() ? std::nullopt : found->second.began;
}

bool Listening::began(const std::string& name, Instant now) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(name);
  if (found == names_.end()) return false;
  found->second.began = now;
  return true;
}

bool Listening::ended(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return names_.erase(name) > 0;
}

void Listening::refused() {
  const std::lock_guard lock(mutex_);
  std::erase_if(names_, [](const auto& each) { return !each.second.began; });
}

void Listening::forget() {
  const std::lock_guard lock(mutex_);
  names_.clear();
}

}  // namespace mortise::redis
