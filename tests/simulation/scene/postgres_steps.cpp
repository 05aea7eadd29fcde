// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_steps.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <thread>

namespace simulation {

void PostgresSteps::come() {
  // The same way for both.
  World& world = trial_.room().world;
  Weather& weather = trial_.room().network.weather;
  const Weather before = weather;
  weather = Weather{.latency_least = one_way, .latency_most = one_way, .jitter = Nanos(0)};
  begin_ = world.now() + until_all_wait;
  trial_.delay([this](ConnectionId id, postgres::Statement statement, postgres::Point point) {
    const Connection* const from = trial_.room().network.find(id);
    return from == nullptr ? Nanos(0) : stands(from->process(), statement, point);
  });
  trial_.begin(
      "holder",
      [this](Process&, mortise::Client& client) {
        mortise::Lock lock = client.make_lock(looked_for);
        lock.lock();
        sleep_until(begin_ + until_it_is_free);
        lock.unlock();
      },
      in_line);
  for (const bool first : {true, false}) {
    trial_.begin(
        first ? "first in line" : "second in line",
        [this, first](Process& process, mortise::Client& client) {
          take_a_turn(process, client, first);
        },
        in_line);
  }
  world.at(begin_ + until_the_first_is_deaf, [this] { deafen_the_first(); });
  trial_.run_until_gone();
  trial_.delay({});
  weather = before;
}

Nanos PostgresSteps::stands(const Process& process, postgres::Statement statement,
                            postgres::Point point) {
  const bool takes =
      statement == postgres::Statement::take || statement == postgres::Statement::look;
  // Before that they check.
  if (!takes || trial_.room().world.now() < begin_) return Nanos(0);
  if (&process == first_) return point == postgres::Point::answers ? look_at_the_row : Nanos(0);
  if (process.name() != "second in line") return Nanos(0);
  if (point == postgres::Point::begins && !second_has_begun_) {
    second_has_begun_ = true;
    return second_ticket;
  }
  return point == postgres::Point::commits ? look_at_the_row : Nanos(0);
}

void PostgresSteps::take_a_turn(Process& process, mortise::Client& client, bool first) {
  if (first) first_ = &process;
  client.check(until_all_wait);
  mortise::Lock lock = client.make_lock(looked_for);
  sleep_until(first ? begin_ + behind : begin_);
  lock.lock();
  if (first) first_was_served_ = true;
  if (!first_was_served_) {
    trial_.judge().blame("L5",
                         "who is the second in line is served before the first, which looks "
                         "whenever the second does");
  }
  lock.unlock();
}

// The connection by which it listens is its last one.
void PostgresSteps::deafen_the_first() const {
  Room& room = trial_.room();
  const auto& all = room.network.connections();
  const auto newest = std::find_if(all.rbegin(), all.rend(), [this](const auto& each) {
    return &each.second->process() == first_ && each.second->held();
  });
  if (newest == all.rend()) return;
  newest->second->stall(Connection::Way::down, room.world.now() + while_it_is_deaf);
}

void PostgresSteps::sleep_until(Nanos when) const {
  std::this_thread::sleep_for(std::max(when - trial_.room().world.now(), Nanos(0)));
}

}  // namespace simulation
