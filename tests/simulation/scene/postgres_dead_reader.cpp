// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_dead_reader.hpp"

#include <mortise/client.hpp>

#include <string>
#include <thread>

namespace simulation {

void PostgresDeadReader::come() {
  trial_.begin("mortal reader", [this](Process& process, mortise::Client& client) {
    mortise::Lock lock =
        client.make_lock(read_by_two, {.lease = lease, .mode = mortise::Mode::shared});
    lock.lock();
    mortal_ = &process;
    std::this_thread::sleep_for(for_ever);
  });
  trial_.begin("reader", [this](Process&, mortise::Client& client) { read_on(client); });
  trial_.run_until_gone();
}

void PostgresDeadReader::read_on(mortise::Client& client) {
  while (mortal_ == nullptr) std::this_thread::sleep_for(between_looks);
  mortise::Lock lock =
      client.make_lock(read_by_two, {.lease = lease, .mode = mortise::Mode::shared});
  lock.lock();
  trial_.room().world.after(Nanos(0), [this] { trial_.kill(*mortal_); });
  std::this_thread::sleep_for(reads_on);
  trial_.begin("writer", [this](Process&, mortise::Client& mine) { write(mine); });
  std::this_thread::sleep_for(until_it_waits);
  let_go_at_ = trial_.room().world.now();
  lock.unlock();
}

void PostgresDeadReader::write(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(read_by_two);
  lock.lock();
  const Nanos took = trial_.room().world.now() - let_go_at_;
  if (took > longest_wait && !trial_.judge().verdict()) {
    trial_.judge().blame("L1", "nobody reads any more, and who waits to write has the name only " +
                                   std::to_string(took.count()) +
                                   " ns later: a dead reader's lease had ended before");
  }
  lock.unlock();
}

}  // namespace simulation
