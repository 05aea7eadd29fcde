// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_cancelled_bell.hpp"

#include <mortise/client.hpp>

#include <string>
#include <system_error>
#include <thread>

namespace simulation {

void PostgresCancelledBell::come() {
  trial_.begin(
      "ringer",
      [this](Process&, mortise::Client& client) {
        cancel_what_tells(client);
        ring(client);
      },
      by_one_way);
  trial_.run_until_gone();
}

void PostgresCancelledBell::cancel_what_tells(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(rung_for);
  lock.lock();
  trial_.begin("rung for", [](Process&, mortise::Client& other) {
    static_cast<void>(other.make_lock(rung_for).try_lock_for(that_wait));
  });
  std::this_thread::sleep_for(2 * that_wait);
  trial_.delay([](ConnectionId, postgres::Statement statement, postgres::Point point) {
    const bool rings = statement == postgres::Statement::wake && point == postgres::Point::begins;
    return rings ? longer_than_that : Nanos(0);
  });
  lock.unlock();
  std::thread reader([&client] {
    std::error_code error;
    static_cast<void>(client.make_lock(asked_about).holder(error));
  });
  std::this_thread::sleep_for(until_it_is_stuck);
  trial_.delay({});
  trial_.room().world.after(Nanos(0), [this] { trial_.server().cancel_all(); });
  reader.join();
  std::this_thread::sleep_for(until_it_is_up_again);
}

void PostgresCancelledBell::ring(mortise::Client& client) {
  mortise::Lock lock = client.make_lock(rung_for);
  lock.lock();
  wait();
  std::this_thread::sleep_for(until_it_is_free);
  freed_at_ = trial_.room().world.now();
  lock.unlock();
  std::this_thread::sleep_for(until_it_is_told);
}

void PostgresCancelledBell::wait() {
  trial_.begin("waiter", [this](Process&, mortise::Client& client) {
    mortise::Lock lock = client.make_lock(rung_for);
    lock.lock();
    const Nanos took = trial_.room().world.now() - freed_at_;
    if (took > until_it_is_told && !trial_.judge().verdict()) {
      trial_.judge().blame("L6", "who waits has the lock only " + std::to_string(took.count()) +
                                     " ns after its release, by a client of which a request that "
                                     "told others was cancelled before");
    }
    lock.unlock();
  });
}

}  // namespace simulation
