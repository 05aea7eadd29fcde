// SPDX-License-Identifier: MIT
// Redis behind sentinels. `sentinel`: nobody waits for replicas, so a fail-over may lose what was
// granted or renewed just before, and what an old master says that goes on
// (docs/stores/redis-ha.md, "Which arrangement"); nothing of exactly that is judged by exclusion.
// `replicas`: a pair, of which both must have a grant: there a fail-over loses no hold, and makes
// no second one.
#include <mortise/redis.hpp>

#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/redis_group.hpp"
#include "simulation/scene/redis_key.hpp"
#include "simulation/scene/redis_late_sentinel.hpp"
#include "simulation/scene/redis_leftovers.hpp"
#include "simulation/scene/redis_lost_master.hpp"
#include "simulation/scene/stands.hpp"

#include <chrono>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace simulation {
namespace {

constexpr std::uint64_t group_stream = 51;
constexpr std::uint64_t trap_stream = 52;

/// A client asks one sentinel a second, and has a connection made anew.
constexpr Nanos longest_with_an_old_master = 3s;

class RedisSentinelStand final : public Stand {
 public:
  RedisSentinelStand(const Plan& plan, Room& room, std::string_view mistake)
      : room_(room),
        waits_(plan.kind == Kind::replicas),
        group_(room, waits_ ? 1 : 1 + plan.seed % 2, plan.seed % 4 == 3 ? 1 : 3,
               Random::of({plan.seed, group_stream})),
        url_(group_.url() + (waits_ ? "?replicas=1" : "")),
        luck_(Random::of({plan.seed, trap_stream})),
        names_(plan.names) {
    for (std::size_t i = 0; i < group_.size(); ++i) {
      group_.server(i).make_mistake(mistake);
      group_.server(i).on_script([this, i](const redis::ScriptRun& run) {
        asked_.insert(run.connection);
        if (run.answer.find("granted ") != std::string_view::npos && !run.keys.empty())
          grants(i, run.keys[0]);
        if (i != group_.master()) goes_on(i);
      });
      group_.server(i).on_message([this, i](std::string_view /*channel*/, std::string_view words) {
        if (words.starts_with("G ")) grants(i, words.substr(words.rfind(' ') + 1));
      });
    }
    group_.on_fail_over = [this](std::size_t before) { fails_over(before); };
  }
  [[nodiscard]] std::unique_ptr<mortise::Backend> backend(std::size_t /*client*/) override {
    return mortise::redis::backend(url_);
  }
  std::string special(std::uint64_t which, Random& random, Nanos length) override;
  void calm() override {
    trap_until_ = Nanos(0);
    for (std::size_t i = 0; i < group_.size(); ++i) group_.server(i).flush_scripts();
    group_.calm();
  }
  // A master that is found to be gone, who takes over, who is told of it; then connections, and
  // waiters that ask each second.
  [[nodiscard]] Nanos recovery() const override { return group_.down_after() + 12s; }
  [[nodiscard]] Nanos longest_hold_of_the_dead(const Plan& plan) const override {
    return plan.lease + std::chrono::seconds(2) * static_cast<int>(plan.clients);
  }
  [[nodiscard]] Nanos lease_of_the_dead(const Plan& plan) const override { return plan.lease; }
  // What was given back at the old master may stand at the new one.
  [[nodiscard]] bool holds_came_back() const override { return group_.fail_overs() > 0; }
  [[nodiscard]] bool tells_truth() const override { return waits_; }
  [[nodiscard]] std::optional<Truth> truth(std::size_t name) const override {
    return truth_of(name, 0);
  }
  [[nodiscard]] std::optional<Truth> truth_of(std::size_t name,
                                              std::uint64_t number) const override;
  [[nodiscard]] std::optional<Verdict> look(Judge& its_judge, Nanos quiet) override;
  [[nodiscard]] std::uint64_t work() const override {
    const bool first = !std::exchange(counts_, true);
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      if (first) group_.server(i).count_instructions(100);
      const redis::Counters& its = group_.server(i).counters();
      all += its.commands_of_scripts + its.instructions / 25;
    }
    return all;
  }
  [[nodiscard]] std::uint64_t requests() const override {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < group_.size(); ++i) all += group_.server(i).counters().commands;
    return all;
  }
  // The way to a replica and back, where it has to have it.
  [[nodiscard]] Nanos hand_over() const override { return waits_ ? 200ms : 100ms; }
  void last_trial() override {
    trial_.emplace(room_, *judge, url_, group_, waits_);
    trial_->trap = [this](std::size_t name) {
      trap_key_ = key_of(name);
      trap_until_ = room_.world.now() + 2s;
      trap_length_ = 1s;
    };
    trial_->come();
    if (group_.sentinels() == 1 || judge->verdict()) return;  // nobody is left to know better
    late_sentinel_.emplace(room_, *judge, url_, group_, luck_.below(group_.sentinels()));
    late_sentinel_->come();
  }
  [[nodiscard]] std::string leftovers(const std::vector<std::string>& names) override {
    return redis_leftovers(room_, group_.server(group_.master()), names);
  }

 private:
  void grants(std::size_t server, std::string_view key);
  void goes_on(std::size_t old);
  void fails_over(std::size_t before);
  std::string lose_master(Nanos length);

  Room& room_;
  const bool waits_;
  mutable RedisGroup group_;
  const std::string url_;
  Random luck_;
  const std::size_t names_;
  std::optional<RedisLostMaster> trial_;
  std::optional<RedisLateSentinel> late_sentinel_;
  std::set<ConnectionId> asked_;   // by which scripts were run
  std::set<ConnectionId> strays_;  // are elsewhere than what their client asks
  Nanos trap_until_{0};            // whoever grants next dies of it
  Nanos trap_length_{0};
  std::string trap_key_;  // of which key; empty = of any
  mutable bool counts_ = false;
};

std::optional<Stand::Truth> RedisSentinelStand::truth_of(std::size_t name,
                                                         std::uint64_t number) const {
  const redis::LockSeen seen = group_.server(group_.master()).lock(key_of(name));
  if (!seen.there) return Truth{};
  const redis::HoldSeen* const hold = number == 0 ? nullptr : seen.hold(number);
  const bool of_many = seen.read && number != 0;
  const std::int64_t ends = hold != nullptr ? hold->ends : of_many ? 0 : seen.ends;
  const Nanos left = std::chrono::microseconds(ends) - group_.host(group_.master()).wall();
  return Truth{hold != nullptr ? number : seen.number, seen.held && ends != 0 ? left : Nanos(0)};
}

std::string RedisSentinelStand::lose_master(Nanos length) {
  Host& host = group_.host(group_.master());
  host.restart(room_.world.now() + group_.down_after() + length, true);
  return host.name() + " dies";
}

std::string RedisSentinelStand::special(std::uint64_t which, Random& random, Nanos length) {
  const Nanos until = room_.world.now() + length;
  const std::size_t master = group_.master();
  const std::string name = group_.host(master).name();
  switch (which) {
    case 0:
      for (std::size_t i = 0; i < group_.size(); ++i) group_.server(i).flush_scripts();
      return "the scripts are forgotten";
    case 1: return lose_master(length);
    case 2:
    case 3:
      group_.wire().cut_off(master, until + group_.down_after());
      return name + " is cut off from the others, and goes on";
    case 4: group_.wire().hold_up(master, until); return "replication stands still";
    case 5: return group_.fail_over() ? "a planned fail-over" : "nobody could take over";
    case 6: {
      const std::size_t sentinel = random.below(group_.sentinels());
      group_.deafen(sentinel, until);
      return group_.sentinel(sentinel).name() + " hears of nothing new";
    }
    case 7:
      for (std::size_t i = 1; i < group_.sentinels(); ++i) group_.sentinel(i).pause(until);
      return "most sentinels stand still";
    case 8:
      group_.host(master).pause(until + group_.down_after());
      return name + " stands still, and goes on";
    default:
      trap_until_ = until + 2s;
      trap_length_ = length;
      return "who grants next dies of it";
  }
}

// An old master that goes on: whatever it grants or renews, the new one does not know. Nobody tells
// its owner before that asks the new one. Where replicas must have a grant, that one is none.
void RedisSentinelStand::goes_on(std::size_t old) {
  for (std::size_t i = 0; i < names_; ++i) {
    const redis::LockSeen its = group_.server(old).lock(key_of(i));
    judge->granted_in_vain(i, its.number);
    if (waits_) continue;
    for (const redis::HoldSeen& hold : its.holds) {
      judge->forced(i, hold.number, never);
    }
  }
}

// What the new one has not, or not for as long, was granted or renewed just before.
void RedisSentinelStand::fails_over(std::size_t before) {
  for (std::size_t i = 0; i < names_; ++i) {
    const redis::LockSeen now = group_.server(group_.master()).lock(key_of(i));
    const redis::LockSeen was = group_.server(before).lock(key_of(i));
    if (was.number > now.number) judge->granted_in_vain(i, was.number);
    if (waits_) continue;
    for (const redis::HoldSeen& hold : was.holds) {
      const redis::HoldSeen* const kept = now.hold(hold.number);
      if (kept == nullptr || kept->ends < hold.ends) judge->forced(i, hold.number, never);
    }
  }
}

// What it answers, or pushes, arrives, and nobody else has it.
void RedisSentinelStand::grants(std::size_t server, std::string_view key) {
  const Nanos now = room_.world.now();
  if (trap_until_ <= now || server != group_.master()) return;
  if (!trap_key_.empty() && key != trap_key_) return;
  trap_until_ = Nanos(0);
  group_.wire().hold_up(server, now + group_.down_after() + 1s);
  room_.world.after(luck_.spread(300us, 30ms), [this, server] {
    if (server == group_.master()) room_.world.note("world", lose_master(trap_length_));
  });
}

// Whoever has been told of another master by each sentinel that it may ask has left the old one.
std::optional<Verdict> RedisSentinelStand::look(Judge& /*judge*/, Nanos quiet) {
  const std::set<ConnectionId> before = std::exchange(strays_, {});
  const Nanos now = room_.world.now();
  if (group_.agreed_since() == never) return std::nullopt;
  if (std::min(now - group_.agreed_since(), quiet) < longest_with_an_old_master) {
    return std::nullopt;
  }
  const Host& master = group_.host(group_.master());
  std::set<const Process*> with_it;  // and ask it
  for (const auto& [id, connection] : room_.network.connections()) {
    if (connection->held() && &connection->host() == &master && asked_.contains(id)) {
      with_it.insert(&connection->process());
    }
  }
  for (const auto& [id, connection] : room_.network.connections()) {
    const Host& host = connection->host();
    if (!connection->held() || connection->process().dead() || &host == &master) continue;
    if (host.number() >= group_.size()) continue;
    // What stands beside it (an inbox, the connection for WAIT) is made anew where it was as long
    // as its client has nothing to ask, and breaks with the next question, which is asked
    // elsewhere.
    if (!asked_.contains(id)) {
      if (!with_it.contains(&connection->process())) continue;
      strays_.insert(id);
      if (!before.contains(id)) continue;  // a second ago, too
    }
    return Verdict{"L7", connection->process().name() + " is still with " + host.name() +
                             ", which is no master any more"};
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Stand> make_redis_sentinel_stand(const Plan& plan, Room& room,
                                                 std::string_view mistake) {
  return std::make_unique<RedisSentinelStand>(plan, room, mistake);
}

}  // namespace simulation
