// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_wire.hpp"

#include <algorithm>
#include <utility>

namespace simulation {

RedisWire::RedisWire(Room& room, std::vector<Host*> hosts, Random luck, Nanos least, Nanos most)
    : room_(room),
      hosts_(std::move(hosts)),
      luck_(luck),
      least_(least),
      most_(most),
      pipes_(hosts_.size() * hosts_.size()),
      held_up_(hosts_.size(), Nanos(0)),
      cut_off_(hosts_.size(), Nanos(0)) {}

void RedisWire::carry(std::size_t from, std::size_t to, std::function<void()> then) {
  pipe(from, to).waiting.push_back(std::move(then));
  plan(from, to);
}

Nanos RedisWire::free_at(std::size_t from, std::size_t to) const {
  return std::max(
      {held_up_[from], cut_off_[from], cut_off_[to], hosts_[to]->paused_until(), Nanos(0)});
}

void RedisWire::plan(std::size_t from, std::size_t to) {
  Pipe& way = pipe(from, to);
  if (way.planned || way.waiting.empty()) return;
  way.planned = true;
  way.last = std::max(way.last, room_.world.now() + luck_.spread(least_, most_));
  room_.world.at(std::max(way.last, free_at(from, to)), [this, from, to] {
    pipe(from, to).planned = false;
    arrive(from, to);
  });
}

// What comes to a server that is down is lost: whoever sent it sees the end of the connection.
// All that has waited for the first of them comes with it.
void RedisWire::arrive(std::size_t from, std::size_t to) {
  Pipe& way = pipe(from, to);
  if (free_at(from, to) > room_.world.now()) return plan(from, to);
  const auto all = std::exchange(way.waiting, {});
  for (const auto& each : all) {
    if (hosts_[to]->up()) each();
  }
  plan(from, to);
}

void RedisWire::hold_up(std::size_t from, Nanos until) {
  held_up_[from] = std::max(held_up_[from], until);
}

void RedisWire::cut_off(std::size_t server, Nanos until) {
  cut_off_[server] = std::max(cut_off_[server], until);
}

// An event of before may come late, and finds what it was planned for.
void RedisWire::flow() {
  const Nanos now = room_.world.now();
  for (Nanos& each : held_up_) each = std::min(each, now);
  for (Nanos& each : cut_off_) each = std::min(each, now);
  for (std::size_t from = 0; from < hosts_.size(); ++from) {
    for (std::size_t to = 0; to < hosts_.size(); ++to) {
      pipe(from, to).planned = false;
      plan(from, to);
    }
  }
}

}  // namespace simulation
