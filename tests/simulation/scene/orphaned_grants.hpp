// SPDX-License-Identifier: MIT
// Watches that no attempt whose hold was released ever holds again (S5): what was sent for it
// before, and comes late, must change nothing. A judge of what the servers have, not of what owners
// see.
#pragma once

#include <mortise/token.hpp>

#include "core/figures.hpp"
#include "simulation/redis/redis_server.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace simulation {

class OrphanedGrants {
 public:
  void watch(redis::RedisModel& server) { servers_.push_back(&server); }

  /// An owner was told of its hold.
  void told(const std::string& name, mortise::Token token) {
    // One server alone may have given the same number to another attempt.
    std::map<std::string, std::size_t> votes;
    for (redis::RedisModel* const server : servers_) {
      const redis::LockSeen seen = server->lock(key_of(name));
      const redis::HoldSeen* const hold = seen.hold(number_of(token));
      if (!seen.there || (hold == nullptr && seen.number != number_of(token))) continue;
      const std::string& attempt = hold == nullptr ? seen.attempt : hold->attempt;
      if (++votes[attempt] * 2 > servers_.size()) {
        told_[{name, number_of(token)}] = attempt;
        return;
      }
    }
  }
  /// It was told that its hold is freed. Inside a client the hold may have gone to the next one.
  void released(const std::string& name, mortise::Token token) {
    const auto found = told_.find({name, number_of(token)});
    if (found == told_.end()) return;
    if (votes(name, found->second) * 2 <= servers_.size()) {
      gone_[name].insert(std::move(found->second));
    }
    told_.erase(found);
  }
  /// @return at how many servers it holds.
  [[nodiscard]] std::size_t votes(const std::string& name, const std::string& attempt) const {
    std::size_t all = 0;
    for (redis::RedisModel* const server : servers_) {
      const redis::LockSeen seen = server->lock(key_of(name));
      if (seen.is_held_by(attempt)) ++all;
    }
    return all;
  }
  /// @return whether an owner was told that this attempt holds, and not yet that it is freed.
  [[nodiscard]] bool owns(const std::string& name, const std::string& attempt) const {
    return std::any_of(told_.begin(), told_.end(), [&](const auto& each) {
      return each.first.first == name && each.second == attempt;
    });
  }
  /// @return what must not be; empty = nothing
  [[nodiscard]] std::string complaint() const {
    for (const auto& [name, gone] : gone_) {
      for (redis::RedisModel* const server : servers_) {
        const redis::LockSeen seen = server->lock(key_of(name));
        for (const redis::HoldSeen& hold : seen.holds) {
          if (!gone.contains(hold.attempt)) continue;
          if (votes(name, hold.attempt) * 2 <= servers_.size()) continue;
          return "S5: " + name + " is held by " + hold.attempt + ", whose hold was released";
        }
      }
    }
    return {};
  }

 private:
  static std::string key_of(const std::string& name) { return "mortise:{" + name + "}"; }
  static std::uint64_t number_of(mortise::Token token) {
    return static_cast<std::uint64_t>(token.value()) / mortise::core::tokens_in_a_grant;
  }
  std::vector<redis::RedisModel*> servers_;
  std::map<std::pair<std::string, std::uint64_t>, std::string> told_;
  std::map<std::string, std::set<std::string>> gone_;
};

}  // namespace simulation
