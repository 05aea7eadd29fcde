// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_shares.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace simulation {

void PostgresShares::come() {
  share(false);
  if (!trial_.judge().verdict()) share(true);
}

void PostgresShares::share(bool pooled) {
  holds_ = {};
  Weather& weather = trial_.room().network.weather;
  const Weather before = weather;
  weather.latency_least = random_.spread(nearest, farthest);
  weather.latency_most = 2 * weather.latency_least;
  until_ = trial_.room().world.now() + until_all_are_there + while_they_share;
  for (std::uint64_t& holds : holds_) {
    const bool hears = !pooled || &holds == &holds_.front();
    trial_.begin(
        "sharer",
        [this, &holds](Process&, mortise::Client& client) {
          std::vector<std::thread> threads;
          for (int i = 0; i < sharers; ++i) {
            threads.emplace_back([this, &holds, &client] { take_part(holds, client); });
          }
          for (std::thread& thread : threads) thread.join();
        },
        hears ? "" : "&mortise.pooled=yes");
  }
  trial_.run_until_gone();
  weather = before;
  const std::uint64_t all = std::accumulate(holds_.begin(), holds_.end(), std::uint64_t{0});
  // Who hears nothing looks by time, and may come too late each time.
  const std::uint64_t least =
      pooled ? holds_.front() : *std::min_element(holds_.begin(), holds_.end());
  if (least * least_part >= all || trial_.judge().verdict()) return;
  trial_.judge().blame("L5", "of two clients that lock the same name one has " +
                                 std::to_string(least) + " of " + std::to_string(all) + " holds");
}

// What is taken before both of them are there nobody has to share.
void PostgresShares::take_part(std::uint64_t& holds, mortise::Client& client) const {
  const World& world = trial_.room().world;
  mortise::Lock lock = client.make_lock(shared_name);
  while (world.now() < until_) {
    lock.lock();
    if (world.now() > until_ - while_they_share && world.now() < until_) ++holds;
    std::this_thread::sleep_for(1ms);
    lock.unlock();
  }
}

}  // namespace simulation
