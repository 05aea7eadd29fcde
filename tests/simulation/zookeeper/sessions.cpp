// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/sessions.hpp"

#include "simulation/zookeeper/numbers.hpp"

#include <chrono>

namespace simulation::zookeeper {

Sessions::Sessions(Nanos tick, Nanos now) : tick_(tick), next_(next_tick(now)) {}

void Sessions::track(std::int64_t session, std::int32_t timeout_ms, Nanos now) {
  expire_at(session, sessions_[session], next_tick(now + std::chrono::milliseconds(timeout_ms)));
}

bool Sessions::touch(std::int64_t session, std::int32_t timeout_ms, Nanos now) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second.closing) return false;
  expire_at(session, found->second, next_tick(now + std::chrono::milliseconds(timeout_ms)));
  return true;
}

std::int32_t Sessions::check(std::int64_t session, std::size_t owner) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return code::unknown_session;
  if (found->second.closing) return code::session_expired;
  if (found->second.owner == nobody) found->second.owner = owner;
  return found->second.owner == owner ? code::ok : code::session_moved;
}

bool Sessions::set_owner(std::int64_t session, std::size_t owner) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second.closing) return false;
  found->second.owner = owner;
  return true;
}

void Sessions::set_closing(std::int64_t session) {
  if (const auto found = sessions_.find(session); found != sessions_.end()) {
    found->second.closing = true;
  }
}

void Sessions::remove(std::int64_t session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  expire_at(session, found->second, Nanos::zero());
  sessions_.erase(found);
}

std::vector<std::int64_t> Sessions::over(Nanos now) {
  std::vector<std::int64_t> out;
  for (; next_ <= now; next_ += tick_) {
    const auto found = by_expiry_.find(next_);
    if (found == by_expiry_.end()) continue;
    for (const std::int64_t session : found->second) {
      out.push_back(session);
      Session& entry = sessions_[session];
      entry.closing = true;
      entry.expires = Nanos::zero();
    }
    by_expiry_.erase(found);
  }
  return out;
}

// Zero: never.
void Sessions::expire_at(std::int64_t session, Session& entry, Nanos when) {
  if (entry.expires == when) return;
  if (const auto before = by_expiry_.find(entry.expires); before != by_expiry_.end()) {
    before->second.erase(session);
    if (before->second.empty()) by_expiry_.erase(before);
  }
  entry.expires = when;
  if (when != Nanos::zero()) by_expiry_[when].insert(session);
}

}  // namespace simulation::zookeeper
