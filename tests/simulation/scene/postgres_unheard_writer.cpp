// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_unheard_writer.hpp"

#include <mortise/client.hpp>

#include <thread>

namespace simulation {

void PostgresUnheardWriter::come() {
  trial_.begin("reader", [](Process&, mortise::Client& client) {
    mortise::Lock lock = client.make_lock(wanted_alone, {.mode = mortise::Mode::shared});
    lock.lock();
    std::this_thread::sleep_for(until_nobody_reads);
    lock.unlock();
  });
  trial_.begin(
      "unheard writer",
      [](Process&, mortise::Client& client) {
        std::this_thread::sleep_for(until_it_writes);
        mortise::Lock lock = client.make_lock(wanted_alone);
        lock.lock();
        lock.unlock();
      },
      "&mortise.pooled=yes");
  trial_.begin("late reader", [this](Process&, mortise::Client& client) { come_later(client); });
  trial_.run_until_gone();
}

void PostgresUnheardWriter::come_later(mortise::Client& client) const {
  mortise::Lock lock = client.make_lock(wanted_alone, {.mode = mortise::Mode::shared});
  std::this_thread::sleep_for(until_others_come);
  for (int i = 0; i < times && !trial_.judge().verdict(); ++i) {
    if (lock.try_lock()) {
      trial_.judge().blame("L6",
                           "a reader overtakes a writer that has waited for long, and looks by "
                           "time");
      lock.unlock();
    }
    std::this_thread::sleep_for(between_tries);
  }
}

}  // namespace simulation
