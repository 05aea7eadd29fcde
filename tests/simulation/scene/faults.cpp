// SPDX-License-Identifier: MIT
// What befalls a run, and how it ends.
#include "simulation/scene/scene.hpp"

#include <algorithm>
#include <utility>

namespace simulation {
namespace {

using namespace std::chrono_literals;

}  // namespace

void Scene::befall(const Fault& fault) {
  ++outcome_.faults[static_cast<std::size_t>(fault.what)];
  switch (fault.what) {
    case Fault::What::stall:
    case Fault::What::cut:
    case Fault::What::overtake: befall_connection(fault); return;
    case Fault::What::part:
    case Fault::What::pause_client:
    case Fault::What::kill_client:
    case Fault::What::late_threads:
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
      tell(process.name(), "is stopped");
      world.pause(process, until);
      return;
    case Fault::What::kill_client:
      tell(process.name(), "is killed");
      working_ -= party.working;
      party.working = 0;
      world.kill(process);
      ++births_;
      world.after(fault.length / 8, [this, index = party.index] {
        --births_;
        begin_party(index);
      });
      return;
    case Fault::What::late_threads:
      tell(process.name(), "threads wake late");
      process.schedule.late = 0.05;
      process.schedule.latest = fault.length / 4 + 10us;
      break;
    default:
      tell(process.name(), "threads stop anywhere");
      process.schedule.preempted = fault.which % 2 == 0 ? 0.003 : 0.03;
      process.schedule.longest = fault.length;
      break;
  }
  world.after(2s, [this, &process] { process.schedule = usual_; });
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
  for (const auto& party : parties_) party->process->schedule = usual_;
  stand_->calm();
}

}  // namespace simulation
