// SPDX-License-Identifier: MIT
// What befalls a run, and how it ends.
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/scene.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace simulation {
namespace {

/// Places where a thread may stop, in one lock() and unlock() with what the background does for it.
constexpr std::uint64_t places = 60;

}  // namespace

void Scene::befall(const Fault& fault) {
  ++outcome_.faults[static_cast<std::size_t>(fault.what)];
  Nanos& until = befallen_[static_cast<std::size_t>(fault.what)];
  until = std::max(until, room_.world.now() + std::max<Nanos>(fault.length, 100ms));
  // Threads that were stopped or woken late go on that much later.
  const int times = fault.what == Fault::What::slow_network ? 6 : 1;
  troubled_until_ = std::max(troubled_until_, room_.world.now() + fault.length * times + 2s);
  switch (fault.what) {
    case Fault::What::stall:
    case Fault::What::cut:
    case Fault::What::overtake: befall_connection(fault); return;
    case Fault::What::part:
    case Fault::What::pause_client:
    case Fault::What::kill_client:
    case Fault::What::late_threads:
    case Fault::What::close_client:
    case Fault::What::preempt: befall_client(fault); return;
    case Fault::What::pause_server:
    case Fault::What::restart_server: befall_server(fault); return;
    case Fault::What::slow_network: {
      Weather& weather = room_.network.weather;
      weather.slow_piece = 0.05;
      weather.slowest = fault.length;
      tell("network", "pieces are slow");
      room_.world.after(fault.length * 4, [&weather] { weather.slow_piece = 0; });
      return;
    }
    case Fault::What::special:
      tell("world", stand_->special(fault.which, luck_, fault.length));
      return;
  }
}

void Scene::count_over_run(Nanos began, Nanos time) {
  for (std::size_t i = 0; i < Fault::kinds; ++i) {
    if (befallen_[i] > began) outcome_.over_runs[i].add(time);
  }
}

void Scene::befall_connection(const Fault& fault) {
  auto& all = room_.network.connections();
  std::vector<Connection*> held;
  for (const auto& [id, connection] : all) {
    if (connection->held()) held.push_back(connection.get());
  }
  if (held.empty()) return;
  Connection& connection = *held[fault.who % held.size()];
  const std::string who = "connection " + std::to_string(connection.id()) + " of " +
                          connection.process().name() + " to " + connection.host().name();
  if (fault.what == Fault::What::cut) {
    const bool deliver = fault.which % 2 == 0;
    tell("network", who + " is cut; what is under way is " + (deliver ? "worked on" : "lost"));
    connection.cut(deliver);
    return;
  }
  if (fault.what == Fault::What::overtake) {
    // All of one client's, each for a time of its own: what was sent first may arrive last.
    tell("network", "all connections of " + connection.process().name() + " stall");
    for (Connection* const each : held) {
      if (&each->process() != &connection.process()) continue;
      const Nanos time =
          luck_.chance(0.5) ? fault.length : luck_.between(Nanos(1'000), fault.length);
      each->stall(Connection::Way::both, room_.world.now() + time);
    }
    return;
  }
  const auto way = static_cast<Connection::Way>(fault.which % 3);
  tell("network", who + " stalls, " +
                      (way == Connection::Way::up     ? "to the server"
                       : way == Connection::Way::down ? "to the client"
                                                      : "both ways"));
  connection.stall(way, room_.world.now() + fault.length);
}

void Scene::befall_client(const Fault& fault) {
  std::vector<Party*> living;
  for (const auto& party : parties_) {
    if (!party->process->dead()) living.push_back(party.get());
  }
  if (living.empty()) return;
  Party& party = *living[fault.who % living.size()];
  Process& process = *party.process;
  World& world = room_.world;
  const Nanos until = world.now() + fault.length;
  switch (fault.what) {
    case Fault::What::part: {
      const auto& hosts = room_.network.hosts();
      if (hosts.empty()) return;  // the memory backend has no network
      Host& host = *hosts[fault.which % hosts.size()];
      tell("network", process.name() + " and " + host.name() + " are parted");
      room_.network.part(process, host, until);
      return;
    }
    case Fault::What::pause_client:
      if (fault.which % 2 == 0) return stand_still(process, until);
      // Not at a moment but at a place in what it does: most moments meet a process that sleeps,
      // and what counts is that one of its threads was just told something, and has yet to hear of
      // it.
      world.stop_at_place(process, 1 + fault.which / 2 % places, 0ns, [this, &process, until] {
        if (room_.world.now() < until && !process.dead()) stand_still(process, until);
      });
      return;
    case Fault::What::kill_client:
      // The memory backend's server is run by the threads of all its clients: one that ends inside
      // of it would take it along, as it does where they are one real process.
      if (plan_.kind == Kind::memory && !process.at_rest()) {
        world.after(100us, [this, fault] {
          if (!calm_) befall_client(fault);
        });
        return;
      }
      tell(process.name(), "is killed");
      stand_->dies(process);
      if (fault.which % 2 == 0) {
        // The servers hear nothing of it for a while, as where a machine dies.
        for (const auto& [id, connection] : room_.network.connections()) {
          if (&connection->process() == &process) connection->stall(Connection::Way::up, until);
        }
      }
      if (party.closing && !party.replaced) --births_;  // whoever waits for its threads is gone
      working_ -= party.working;
      party.working = 0;
      world.kill(process);
      calls_.died(process, world.now() + stand_->longest_hold_of_the_dead(plan_) + 6s);
      ++births_;
      world.after(fault.length / 8, [this, index = party.index] {
        --births_;
        begin_party(index);
      });
      return;
    case Fault::What::close_client: close_in_between(party, fault.which); return;
    case Fault::What::late_threads:
      tell(process.name(), "threads wake late");
      process.schedule.late = 0.05;
      process.schedule.latest = fault.length / (fault.which % 2 == 0 ? 4 : 1) + 10us;
      break;
    default:
      tell(process.name(), "threads stop anywhere");
      process.schedule.preempted = fault.which % 2 == 0 ? 0.003 : 0.03;
      process.schedule.longest = fault.length;
      // The thread that sleeps until a hold is over is the same in all of them: it is aimed at
      // where a run takes the least time.
      if (plan_.kind == Kind::memory && fault.which % 3 == 0) process.schedule.stale = 0.2;
      break;
  }
  world.after(2s, [this, &process] { process.schedule = usual_; });
}

void Scene::stand_still(Process& process, Nanos until) {
  tell(process.name(), plan_.suspends ? "is suspended with its machine" : "is stopped");
  if (plan_.suspends) {
    room_.world.suspend(process, until);
  } else {
    room_.world.pause(process, until);
  }
}

// A service that is told to end while its threads lock and unlock: by one thread, by two, or by
// whoever is told of a loss first, which is often a loss by the end itself.
void Scene::close_in_between(Party& party, std::uint64_t which) {
  if (!party.client || party.closing) return;
  Process& process = *party.process;
  if (which % 3 == 0 && !party.closes_at_a_loss) {
    party.closes_at_a_loss = true;
    room_.world.after(1s, [this, &party, &process] {
      if (!calm_ && !process.dead()) close_in_between(party, 1);
    });
    return;
  }
  party.closing = true;
  tell(process.name(), "closes its client");
  ++births_;
  stand_->dies(process);  // what it cannot give back now ends by itself
  judge_.leaves(process);
  const Nanos wait = stand_->before_closing(luck_);
  room_.world.spawn(process, [this, &party, &process, wait] {
    if (wait > Nanos(0)) std::this_thread::sleep_for(wait);
    const Nanos began = room_.world.now();
    close(party);
    stand_->closed(process, room_.world.now() - began);
    replace(party);
  });
  if (which % 3 != 2) return;
  room_.world.spawn(process, [this, &party, &process, wait] {
    std::this_thread::sleep_for(wait + luck_.spread(Nanos(1'000), Nanos(2'000'000)));
    party.client->close();
    look_at_end(process);
  });
}

void Scene::close_at_a_loss(Party& party) {
  if (party.closing || calm_) return;
  party.closing = true;
  tell(party.process->name(), "closes its client in a callback");
  ++births_;
  stand_->dies(*party.process);
  judge_.leaves(*party.process);
  const Nanos began = room_.world.now();
  close(party);
  stand_->closed(*party.process, room_.world.now() - began);
  // By another thread: it may be a worker that was told at once.
  room_.world.spawn(*party.process, [this, &party] { replace(party); });
}

void Scene::close(Party& party) {
  const Process& process = *party.process;
  const Nanos began = room_.world.now();
  const Nanos stolen = room_.world.stolen(process);
  party.client->close();
  party.shut = true;
  const Nanos took = room_.world.now() - began - (room_.world.stolen(process) - stolen);
  if (took > longest_close)
    judge_.blame("L4", "closing took " + std::to_string(took.count()) + " ns");
  look_at_end(process);
}

void Scene::replace(Party& party) {
  while (party.working > 0) std::this_thread::sleep_for(1ms);
  --births_;
  party.replaced = true;
  begin_party(party.index);
}

void Scene::look_at_end(const Process& process) {
  if (judge_.believes(process)) {
    judge_.blame("S9", process.name() + " believes in a hold although its client is closed");
  }
}

void Scene::befall_server(const Fault& fault) {
  const auto& hosts = room_.network.hosts();
  if (hosts.empty()) return;
  Host& host = *hosts[fault.who % hosts.size()];
  const Nanos until = room_.world.now() + fault.length;
  if (fault.what == Fault::What::pause_server) {
    tell(host.name(), "is stopped");
    host.pause(until);
  } else {
    tell(host.name(), "is started anew");
    host.restart(until, true);
  }
}

void Scene::calm_down() {
  tell("world", "the storm is over");
  calm_ = true;
  room_.network.weather.slow_piece = 0;
  // A machine that does other things, too, stops threads anywhere, though never for long.
  if (plan_.seed % 2 == 0) {
    usual_.preempted = 0.02;
    usual_.longest = 200us;
  }
  for (const auto& party : parties_) party->process->schedule = usual_;
  stand_->calm();
}

}  // namespace simulation
