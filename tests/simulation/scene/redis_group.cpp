// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_group.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace simulation {

// Their clocks agree: by how much they may not docs/stores/redis-ha.md says, and what that costs.
RedisGroup::RedisGroup(Room& room, std::size_t replicas, std::size_t sentinels, Random luck)
    : room_(room), luck_(luck), down_after_(luck_.spread(500ms, 4s)) {
  std::vector<Host*> hosts;
  std::vector<redis::Replication::Member> members;
  for (std::size_t i = 0; i <= replicas; ++i) {
    Host& host = room.network.host("redis " + std::to_string(i + 1));
    if (i > 0) host.step_wall_clock(hosts.front()->wall() - host.wall());
    servers_.push_back({.host = &host, .model = std::make_unique<redis::RedisModel>(host)});
    host.serve(*servers_.back().model);
    hosts.push_back(&host);
    members.push_back({.server = &servers_.back().model->replication(),
                       .host = "10.0.0." + std::to_string(i + 1)});
  }
  room.world.at(Nanos(0), [hosts] {
    for (Host* const each : hosts) each->clock.ppm = hosts.front()->clock.ppm;
  });
  const Nanos slowest = luck_.spread(50us, 20ms);
  wire_.emplace(room, hosts, Random::of({luck_.next()}), std::min<Nanos>(20us, slowest), slowest);
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].server->join(members, i,
                            [this](std::size_t from, std::size_t to, std::function<void()> then) {
                              wire_->carry(from, to, std::move(then));
                            });
  }
  for (std::size_t i = 1; i < members.size(); ++i) members[i].server->follow(0);
  url_ = "redis+sentinel://";
  for (std::size_t i = 0; i < sentinels; ++i) {
    Host& host = room.network.host("sentinel " + std::to_string(i + 1));
    sentinels_.push_back(
        {.host = &host, .model = std::make_unique<redis::SentinelModel>(host, name)});
    host.serve(*sentinels_.back().model);
    sentinels_.back().model->learn("10.0.0.1", 6379, epoch_);
    url_ += (i == 0 ? "10.0.0." : ",10.0.0.") + std::to_string(members.size() + i + 1);
  }
  url_ += std::string("/") + name;
  look();
}

void RedisGroup::look() {
  look_at_master();
  look_at_the_others();
  look_at_sentinels();
  room_.world.after(between_looks, [this] { look(); });
}

bool RedisGroup::is_there(const Host& host) const {
  return host.up() && host.paused_until() <= room_.world.now();
}

bool RedisGroup::is_gone(std::size_t server) const {
  return !is_there(*servers_[server].host) || wire_->cut_off_until(server) > room_.world.now();
}

// Most of them have to see it, each by itself.
void RedisGroup::look_at_master() {
  const auto watching = static_cast<std::size_t>(
      std::count_if(sentinels_.begin(), sentinels_.end(),
                    [this](const Sentinel& each) { return is_there(*each.host); }));
  if (watching * 2 <= sentinels_.size() || !is_gone(master_)) {
    gone_since_ = never;
    return;
  }
  const Nanos now = room_.world.now();
  gone_since_ = std::min(gone_since_, now);
  if (now - gone_since_ < down_after_) return;
  if (const auto next = successor()) promote(*next);
}

std::optional<std::size_t> RedisGroup::successor() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (i == master_ || is_gone(i)) continue;
    const redis::Replication& its = servers_[i].model->replication();
    // One that was no replica when it was looked at last is none to take over.
    if (its.master() != master_) continue;
    if (!best || its.offset() > servers_[*best].model->replication().offset()) best = i;
  }
  return best;
}

bool RedisGroup::fail_over() {
  const auto next = successor();
  if (next) promote(*next);
  return next.has_value();
}

void RedisGroup::promote(std::size_t server) {
  const Nanos now = room_.world.now();
  servers_[server].host->note("takes over");
  servers_[server].model->replication().promote();
  servers_[server].model->kill_clients();
  const std::size_t before = std::exchange(master_, server);
  if (on_fail_over) on_fail_over(before);
  ++epoch_;
  gone_since_ = never;
  agreed_since_ = never;
  for (Server& each : servers_) {
    each.wrong_since = never;
    const bool replica = each.model->replication().master().has_value();
    each.patience = replica     ? luck_.between(Nanos(0), between_questions)
                    : patience_ ? *patience_
                    : calm_     ? shortest_patience
                                : luck_.spread(shortest_patience, longest_patience);
  }
  const Nanos told = now + luck_.between(10ms, between_questions);
  const std::size_t leader = luck_.below(sentinels_.size());
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    sentinels_[i].learns_at =
        i == leader ? told : told + luck_.between(Nanos(0), between_greetings);
  }
}

// Whoever does not follow the master is told to, as soon as the sentinels are sure of both.
void RedisGroup::look_at_the_others() {
  const Nanos now = room_.world.now();
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    Server& each = servers_[i];
    redis::Replication& its = each.model->replication();
    if (i == master_ || its.master() == master_ || is_gone(i) || is_gone(master_)) {
      each.wrong_since = never;
      continue;
    }
    each.wrong_since = std::min(each.wrong_since, now);
    if (now - each.wrong_since < each.patience) continue;
    each.host->note("is told to follow " + servers_[master_].host->name());
    its.follow(master_);
    each.model->kill_clients();
  }
}

void RedisGroup::look_at_sentinels() {
  const Nanos now = room_.world.now();
  bool agreed = true;
  for (Sentinel& each : sentinels_) {
    if (each.model->epoch() == epoch_) continue;
    if (now < each.learns_at || now < each.deaf_until || !is_there(*each.host)) {
      agreed = false;
      continue;
    }
    each.host->note("names " + servers_[master_].host->name());
    each.model->learn("10.0.0." + std::to_string(master_ + 1), 6379, epoch_);
  }
  agreed_since_ = agreed ? std::min(agreed_since_, now) : never;
}

void RedisGroup::deafen(std::size_t sentinel, Nanos until) {
  Nanos& its = sentinels_.at(sentinel).deaf_until;
  its = std::max(its, until);
}

void RedisGroup::calm() {
  calm_ = true;
  patience_.reset();
  for (Server& each : servers_) each.patience = std::min(each.patience, shortest_patience);
  for (Sentinel& each : sentinels_) {
    each.deaf_until = std::min(each.deaf_until, room_.world.now());
  }
  wire_->take(quick, quick_enough);
  wire_->flow();
}

bool RedisGroup::is_whole() const {
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (is_gone(i)) return false;
    const redis::Replication& its = servers_[i].model->replication();
    if (i == master_ ? its.master().has_value()
                     : its.master() != master_ || !its.is_synchronized()) {
      return false;
    }
  }
  return agreed_since_ != never;
}

}  // namespace simulation
