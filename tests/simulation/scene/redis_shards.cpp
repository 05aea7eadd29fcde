// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_shards.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace simulation {

// Their clocks agree: a lease goes on by the clock of whoever has the name.
RedisShards::RedisShards(Room& room, std::size_t masters, Random luck)
    : room_(room), luck_(luck), node_timeout_(luck_.spread(500ms, 3s)) {
  std::vector<Host*> hosts;
  std::vector<redis::Slots::Member> members;
  redis::Options options;
  options.cluster = true;
  url_ = "redis+cluster://";
  for (std::size_t i = 0; i < masters; ++i) {
    Host& host = room.network.host("redis " + std::to_string(i + 1));
    if (i > 0) host.step_wall_clock(hosts.front()->wall() - host.wall());
    servers_.push_back(
        {.host = &host, .model = std::make_unique<redis::RedisModel>(host, options)});
    host.serve(*servers_.back().model);
    hosts.push_back(&host);
    members.push_back(
        {.server = servers_.back().model.get(), .host = "10.0.0." + std::to_string(i + 1)});
    url_ += (i == 0 ? "" : ",") + members.back().host;
  }
  room.world.at(Nanos(0), [hosts] {
    for (Host* const each : hosts) each->clock.ppm = hosts.front()->clock.ppm;
  });
  const Nanos slowest = luck_.spread(50us, 200ms);
  wire_.emplace(room, hosts, Random::of({luck_.next()}), std::min<Nanos>(20us, slowest), slowest);
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].server->slots().join(
        members, i, [this](std::size_t from, std::size_t to, std::function<void()> then) {
          wire_->carry(from, to, std::move(then));
        });
  }
  look();
}

bool RedisShards::is_gone(std::size_t server) const {
  const Host& host = *servers_[server].host;
  const Nanos now = room_.world.now();
  return !host.up() || host.paused_until() > now || wire_->cut_off_until(server) > now;
}

// clusterUpdateState(): a master that has just started, or whose cluster has no master for some of
// its slots, refuses everything.
void RedisShards::look() {
  const Nanos now = room_.world.now();
  bool covered = true;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    Server& each = servers_[i];
    if (is_gone(i)) {
      each.gone_since = std::min(each.gone_since, now);
      if (now - each.gone_since >= node_timeout_) each.back_since = never;
    } else {
      each.gone_since = never;
      // It is taken back when it has been there for twice that time.
      if (each.back_since == never) each.back_since = now + 2 * node_timeout_;
    }
    covered = covered && each.back_since <= now;
  }
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    Server& each = servers_[i];
    if (!each.host->up()) {
      each.was_up = false;
      continue;
    }
    if (!std::exchange(each.was_up, true)) each.ready_at = now + writable_delay;
    each.model->slots().set_down(!covered || now < each.ready_at);
  }
  room_.world.after(between_looks, [this] { look(); });
}

std::size_t RedisShards::place_of(std::string_view key) {
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].model->value(key) != nullptr) return i;
  }
  const std::uint16_t slot = redis::Slots::slot_of(key);
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].model->slots().owner(slot) == i) return i;
  }
  return 0;
}

// Once all of those can be reached; what an administrator cannot say is said later.
void RedisShards::after(Nanos time, std::vector<std::size_t> servers, std::function<void()> then) {
  if (calm_) time = std::min(time, longest_in_a_calm);
  room_.world.after(time, [this, servers = std::move(servers), then = std::move(then)] {
    const bool all = std::none_of(servers.begin(), servers.end(),
                                  [this](std::size_t each) { return is_gone(each); });
    if (all) return then();
    after(between_looks, servers, then);
  });
}

bool RedisShards::move(std::uint16_t slot, std::size_t to, Move times) {
  if (moving_.contains(slot)) return false;
  std::optional<std::size_t> from;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].model->slots().owner(slot) == i) from = i;
  }
  if (!from || *from == to) return false;
  moving_.insert(slot);
  after(Nanos(0), {*from, to}, [this, slot, from = *from, to, times] {
    servers_[to].model->slots().import(slot, from);
    servers_[from].model->slots().migrate(slot, to);
    servers_[from].host->note("slot " + std::to_string(slot) + " goes to " +
                              servers_[to].host->name());
    after(times.before_keys, {from, to},
          [this, slot, from, to, times] { move_keys(slot, from, to, times); });
  });
  return true;
}

void RedisShards::move_keys(std::uint16_t slot, std::size_t from, std::size_t to, Move times) {
  const std::vector<std::string> left = servers_[from].model->keys_in(slot);
  if (!left.empty()) {
    servers_[from].model->move_key(left.front(), *servers_[to].model);
    servers_[from].host->note(left.front() + " has gone to " + servers_[to].host->name());
    after(times.between_keys, {from, to},
          [this, slot, from, to, times] { move_keys(slot, from, to, times); });
    return;
  }
  after(times.after_keys, {from, to},
        [this, slot, from, to, times] { assign(slot, from, to, times); });
}

// The new one first: or nobody would have it if what is said to the second is lost.
void RedisShards::assign(std::uint16_t slot, std::size_t from, std::size_t to, Move times) {
  servers_[to].model->slots().assign(slot, to);
  servers_[to].host->note("has slot " + std::to_string(slot));
  after(times.before_told, {from}, [this, slot, from, to] {
    servers_[from].model->slots().assign(slot, to);
    ++moves_;
    moving_.erase(slot);
  });
}

void RedisShards::calm() {
  calm_ = true;
  wire_->take(quick, quick_enough);
  wire_->flow();
}

}  // namespace simulation
