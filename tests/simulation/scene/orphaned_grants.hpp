// SPDX-License-Identifier: MIT
// Watches that no attempt whose hold was released holds again for long (S5): a request that was
// sent for it before, and arrives late, may take a free name until it is void, and then the client
// gives the name back. If that client has died or closed, its lease ends instead. A judge of what
// the servers have, not of what owners see.
#pragma once

#include <mortise/token.hpp>

#include "core/figures.hpp"
#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/attempt_clients.hpp"
#include "simulation/scene/plan.hpp"
#include "simulation/scene/redis_key.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace simulation {

class OrphanedGrants {
 public:
  OrphanedGrants(const AttemptClients& clients, const Plan& plan)
      : clients_(clients),
        steps_(plan.steps),
        longest_hold_(std::max<Nanos>(plan.lease, silence + provisional_lease)) {}
  void watch(const Host& host, redis::RedisModel& server) { servers_.push_back({&host, &server}); }

  /// An owner was told of its hold, or a reader of its part in one.
  void told(const std::string& name, mortise::Token token) {
    // One server alone may have given the same number to another attempt; and readers of a quorum
    // may have equal numbers.
    std::map<std::string, std::size_t> votes;
    for (const Watched& each : servers_) {
      for (std::string& attempt : attempts_of(each.server->lock(key_of(name)), number_of(token))) {
        ++votes[std::move(attempt)];
      }
    }
    for (const auto& [attempt, count] : votes) {
      if (count * 2 > servers_.size()) told_[{name, number_of(token)}].attempts.insert(attempt);
    }
    const auto found = told_.find({name, number_of(token)});
    if (found != told_.end()) ++found->second.owners;
  }
  /// It was told that its hold is freed. Inside a client the hold may have gone to the next one, or
  /// stand for others who read.
  void released(const std::string& name, mortise::Token token) {
    const auto found = told_.find({name, number_of(token)});
    if (found == told_.end() || --found->second.owners > 0) return;
    for (const std::string& attempt : found->second.attempts) {
      if (votes(name, attempt) * 2 <= servers_.size()) gone_[name].insert(attempt);
    }
    told_.erase(found);
  }
  /// @return at how many servers it holds.
  [[nodiscard]] std::size_t votes(const std::string& name, const std::string& attempt) const {
    return holding(name, attempt).size();
  }
  /// @return whether an owner was told that this attempt holds, and not yet that it is freed.
  [[nodiscard]] bool owns(const std::string& name, const std::string& attempt) const {
    return std::any_of(told_.begin(), told_.end(), [&](const auto& each) {
      return each.first.first == name && each.second.attempts.contains(attempt);
    });
  }
  /// Call it each second. @return what must not be; empty = nothing
  [[nodiscard]] std::string complaint(Nanos now) {
    // A request is void a second after it left by the server's clock, whose estimate may be wrong
    // by another second.
    constexpr std::chrono::milliseconds given_back{2500};
    std::map<Gone, Nanos> since;
    std::string words;
    for (const auto& [name, gone] : gone_) {
      for (const std::string& attempt : held_again(name, gone, now)) {
        const auto before = since_.find({name, attempt});
        // A look at which the client could not have given it back does not count.
        const bool goes_on = before != since_.end() && can_give_back(name, attempt);
        const Nanos first = goes_on ? before->second : now;
        since[{name, attempt}] = first;
        if (now - first < given_back || !words.empty()) continue;
        words = "S5: " + name + " is held by " + attempt + ", whose hold was released";
        for (const Watched& each : servers_) words += "; " + each.server->look(key_of(name));
      }
    }
    since_ = std::move(since);
    return words;
  }

 private:
  struct Watched {
    const Host* host = nullptr;
    redis::RedisModel* server = nullptr;
  };
  using Gone = std::pair<std::string, std::string>;  // a name, and an attempt that held it
  /// @return whether the client can no longer give the name back, and a copy that it sent before
  /// its end may still have its lease. A server whose clock is set back keeps it for longer.
  [[nodiscard]] bool ends_by_itself(const std::string& attempt, Nanos now) const {
    const std::optional<Nanos> ended = clients_.ended_at(attempt);
    return ended && (steps_ || now < *ended + void_after + longest_hold_);
  }
  /// @return the attempts of a name that hold it, although their hold was released
  [[nodiscard]] std::set<std::string> held_again(const std::string& name,
                                                 const std::set<std::string>& gone,
                                                 Nanos now) const {
    std::set<std::string> all;
    for (const Watched& each : servers_) {
      const redis::LockSeen seen = each.server->lock(key_of(name));
      for (const redis::HoldSeen& hold : seen.holds) {
        // Before its hold it may have had votes with the number of another one.
        if (!gone.contains(hold.attempt) || owns(name, hold.attempt)) continue;
        if (ends_by_itself(hold.attempt, now)) continue;
        if (votes(name, hold.attempt) * 2 > servers_.size()) all.insert(hold.attempt);
      }
    }
    return all;
  }
  [[nodiscard]] std::vector<Watched> holding(const std::string& name,
                                             const std::string& attempt) const {
    std::vector<Watched> all;
    std::copy_if(servers_.begin(), servers_.end(), std::back_inserter(all), [&](const auto& each) {
      return each.server->lock(key_of(name)).is_held_by(attempt);
    });
    return all;
  }
  /// @return whether the client runs and reaches so many servers that answer that the attempt would
  /// lose its majority
  [[nodiscard]] bool can_give_back(const std::string& name, const std::string& attempt) const {
    const std::vector<Watched> all = holding(name, attempt);
    const auto can = std::count_if(all.begin(), all.end(), [&](const Watched& each) {
      return !each.server->refuses_scripts() && clients_.reaches(attempt, *each.host);
    });
    return (all.size() - static_cast<std::size_t>(can)) * 2 <= servers_.size();
  }

  struct Told {
    std::set<std::string> attempts{};  // of that number
    std::size_t owners = 0;            // who have yet to be told that it is freed
  };
  [[nodiscard]] static std::vector<std::string> attempts_of(const redis::LockSeen& seen,
                                                            std::uint64_t number) {
    std::vector<std::string> all;
    for (const redis::HoldSeen& hold : seen.holds) {
      if (hold.number == number) all.push_back(hold.attempt);
    }
    if (all.empty() && seen.there && seen.number == number) all.push_back(seen.attempt);
    return all;
  }
  static std::uint64_t number_of(mortise::Token token) {
    return static_cast<std::uint64_t>(token.value()) / mortise::core::tokens_in_a_grant;
  }
  /// See RedisCopies.
  static constexpr Nanos void_after = std::chrono::milliseconds(2100);
  /// A copy in the queue counts as a waiter for this time, and may then get the name.
  static constexpr Nanos silence = std::chrono::seconds(3);
  static constexpr Nanos provisional_lease = std::chrono::seconds(2);

  const AttemptClients& clients_;
  const bool steps_;
  const Nanos longest_hold_;  // of a copy, from the moment from which it is void
  std::vector<Watched> servers_;
  std::map<std::pair<std::string, std::uint64_t>, Told> told_;
  std::map<std::string, std::set<std::string>> gone_;
  std::map<Gone, Nanos> since_;  // when such a hold was seen first
};

}  // namespace simulation
