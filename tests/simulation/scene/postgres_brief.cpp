// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_brief.hpp"

#include <mortise/client.hpp>

#include <string>
#include <system_error>
#include <thread>

namespace simulation {

void PostgresBrief::come() {
  Weather& weather = trial_.room().network.weather;
  const Weather before = weather;
  weather = Weather{.latency_least = one_way, .latency_most = one_way, .jitter = Nanos(0)};
  trial_.begin("brief", [this](Process&, mortise::Client& client) {
    for (int i = 0; i < times && !trial_.judge().verdict(); ++i) {
      wait_in_turn(client, true);
      wait_in_turn(client, false);
    }
  });
  trial_.run_until_gone();
  weather = before;
}

void PostgresBrief::want_it_too() {
  trial_.begin("rival", [](Process&, mortise::Client& client) {
    mortise::Lock lock = client.make_lock(wanted_briefly);
    lock.lock();
    std::this_thread::sleep_for(kept_by_another);
    lock.unlock();
  });
}

void PostgresBrief::wait_in_turn(mortise::Client& client, bool wanted) {
  mortise::Lock lock = client.make_lock(wanted_briefly);
  lock.lock();
  if (wanted) {
    want_it_too();
    std::this_thread::sleep_for(until_it_waits);
  }
  std::this_thread::sleep_for(longer_than_a_turn);
  bool got = false;
  std::error_code error;
  std::thread waiter([&] {
    got = lock.try_lock_for(brief, error);
    if (got) lock.unlock();
  });
  std::this_thread::sleep_for(before_it_is_free);
  lock.unlock();
  waiter.join();
  if (error) {
    trial_.judge().blame("L3", "a brief wait in turn ends as " + error.message() +
                                   ", though the server answers all the time");
  } else if (!got && !wanted) {
    trial_.judge().blame("L2", "a brief wait in turn does not get a lock that is free");
  }
  std::this_thread::sleep_for(2 * kept_by_another);
}

}  // namespace simulation
