// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_leading_readers.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <string>
#include <thread>

namespace simulation {

void PostgresLeadingReaders::come() {
  begin_ = trial_.room().world.now() + until_all_are_there;
  trial_.begin(
      "writer", [this](Process&, mortise::Client& client) { write(client); }, in_line);
  for (int i = 0; i < readers; ++i) {
    trial_.begin(
        "leading reader", [this](Process&, mortise::Client& client) { read(client); }, in_line);
  }
  trial_.run_until_gone();
}

void PostgresLeadingReaders::write(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(read_by_all);
  lock.lock();
  sleep_until(begin_ + until_it_is_free);
  freed_at_ = trial_.room().world.now();
  lock.unlock();
  std::this_thread::sleep_for(until_all_are_told);  // it has told them by then
}

// It reads for longer than the others may be in coming: whoever lets go tells the next one.
void PostgresLeadingReaders::read(mortise::Client& client) {
  client.check(until_all_are_there);
  mortise::Lock lock = client.make_lock(read_by_all, {.mode = mortise::Mode::shared});
  sleep_until(begin_);
  lock.lock();
  const Nanos took = trial_.room().world.now() - freed_at_;
  if (took > until_all_are_told && !trial_.judge().verdict()) {
    trial_.judge().blame("L6", "one of the readers that lead a queue reads only " +
                                   std::to_string(took.count()) + " ns after the release");
  }
  std::this_thread::sleep_for(2 * until_all_are_told);
  lock.unlock();
}

void PostgresLeadingReaders::sleep_until(Nanos when) const {
  std::this_thread::sleep_for(std::max(when - trial_.room().world.now(), Nanos(0)));
}

}  // namespace simulation
