// SPDX-License-Identifier: MIT
// What is tried when all is well again: a holder dies (L1), and every server is out of reach for
// less than a lease (L8).
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/scene.hpp"

#include <thread>

namespace simulation {
namespace {

// What a holder said that died, and was cut off at the same time, is heard when that ends.
constexpr auto words_are_kept = 60s;
constexpr auto kept_lease = 6s;
// Of a shorter one too little is left once connections are made again.
constexpr auto shortest_kept_lease = 3s;

}  // namespace

void Scene::have_a_holder_die() {
  Process& process = room_.world.process("mortal");
  process.clock.offset = std::chrono::hours(1);
  process.schedule = usual_;
  const std::size_t name = luck_.below(plan_.names);
  const Nanos life = luck_.spread(10us, 500ms);
  const bool silent = luck_.chance(0.5);
  room_.world.spawn(process, [this, &process, name, life, silent] {
    try {
      // Never destroyed: it dies on its stack.
      mortise::Client client(stand_->backend(plan_.clients + 1));
      mortise::Lock lock = client.make_lock(
          lock_name(name),
          {.lease = std::chrono::duration_cast<std::chrono::milliseconds>(plan_.lease),
           .label = "mortal"});
      const Calls::Call call(calls_, name, process);
      const Nanos asked = room_.world.now();
      lock.lock();
      const mortise::Owner owner = mortise::Owner::this_thread();
      judge_.granted(name, {.process = &process,
                            .left = [&lock, owner] { return Nanos(lock.valid_for(owner)); },
                            .token = lock.token(owner),
                            .unseen = !stand_->seen_by_strangers(plan_.clients + 1),
                            .asked_at = asked});
      tell(process.name(), "holds " + lock_name(name));
      stand_->told(lock_name(name), lock.token(owner));
      room_.world.after(life, [this, &process, name, silent] {
        tell(process.name(), silent ? "dies, and its servers hear nothing" : "is killed");
        for (const auto& [id, connection] : room_.network.connections()) {
          if (silent && &connection->process() == &process) {
            connection->stall(Connection::Way::up, room_.world.now() + words_are_kept);
          }
        }
        stand_->dies(process);
        const Nanos free_by = room_.world.now() + stand_->lease_of_the_dead(plan_);
        judge_.died(process, free_by);
        calls_.died(process, free_by + 1s);
        room_.world.kill(process);
        if (!silent) return;
        // It may have asked once more when it was granted the name: that is a late copy then, of an
        // owner that nobody can ask, and ends with its lease.
        room_.world.after(words_are_kept, [this, name] {
          const Nanos until = room_.world.now() + stand_->lease_of_the_dead(plan_);
          judge_.hears_the_dead(name, until);
          calls_.hears_the_dead(name, until + 1s);
        });
      });
      std::this_thread::sleep_for(10min);
    } catch (const std::exception& error) {
      judge_.blame("exception", error.what());
    }
  });
}

void Scene::look_at_renewal() {
  if (room_.network.hosts().empty()) return;
  World& world = room_.world;
  Process& process = world.process("keeper");
  process.clock.offset = std::chrono::hours(1);
  process.schedule = usual_;
  bool done = false;
  Nanos lease{0};
  // Two renewals of a lease fail meanwhile; the third one, and a new connection, still have time.
  const auto outage = [&] { return lease * 3 / 10; };
  world.spawn(process, [&, this] {
    try {
      mortise::Client client(stand_->backend(plan_.clients));
      const auto wanted = client.capabilities().effective_lease.value_or(kept_lease);
      mortise::Lock lock = client.make_lock("kept/0", {.lease = wanted, .label = "keeper"});
      lock.lock();
      lease = wanted;
      for (int i = 0; i < 20 && lease >= shortest_kept_lease; ++i) {
        std::this_thread::sleep_for(lease / 10);
        if (lock.valid_for(mortise::Owner::this_thread()) > 0ns) continue;
        judge_.blame("L8", "a hold of " + std::to_string(lease.count()) +
                               " ns did not survive that no server was there for " +
                               std::to_string(outage().count()) + " ns");
        return;
      }
      std::error_code error;
      const mortise::Released released = lock.release(error);
      // With a short lease it is released at once, and the outage may begin just then.
      if (released != mortise::Released::released && lease >= shortest_kept_lease) {
        judge_.blame("L8", "a hold that was valid throughout was not released");
      }
    } catch (const std::exception& error) {
      judge_.blame("L7", std::string("while the servers are out of reach: ") + error.what());
    }
    done = true;
  });
  for (int i = 0; i < 100 && lease == 0ns && !judge_.verdict(); ++i) world.run(world.now() + 20ms);
  if (!done && lease == 0ns) judge_.blame("L7", "a free name is not to be had");
  if (judge_.verdict()) return;
  world.run(world.now() + luck_.between(Nanos(1), lease / 2));
  const Nanos until = world.now() + outage();
  // An ensemble elects, which takes the time that it takes; a cluster whose masters were away
  // refuses everything for a while (CLUSTERDOWN), so there only the ways to them are.
  const std::uint64_t how = plan_.kind == Kind::cluster
                                ? 1 + luck_.below(2)
                                : luck_.below(plan_.kind == Kind::zookeeper ? 3 : 4);
  tell("world", "no server is to be reached");
  for (const auto& host : room_.network.hosts()) {
    if (how == 0) host->pause(until);
    if (how == 3) host->restart(until, true);
    if (how == 2) room_.network.part(process, *host, until);
  }
  for (const auto& [id, connection] : room_.network.connections()) {
    if (!connection->held()) continue;
    if (how == 2) connection->cut(luck_.chance(0.5));
    if (how == 1) connection->stall(Connection::Way::both, until);
  }
  for (int i = 0; i < 200 && !done && !judge_.verdict(); ++i) world.run(world.now() + 100ms);
  if (!done && !judge_.verdict()) judge_.blame("L7", "whoever holds in an outage does not end");
}

}  // namespace simulation
