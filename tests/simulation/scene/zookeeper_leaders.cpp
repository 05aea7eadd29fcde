// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_leaders.hpp"

#include <chrono>

namespace simulation {

// How long keys are kept the leader's wall clock tells, and leaders change.
void ZooKeeperLeaders::agree_on_the_time() {
  const auto& hosts = room_.network.hosts();
  for (const auto& host : hosts) host->step_wall_clock(hosts.front()->wall() - host->wall());
  room_.world.after(between_times, [this] { agree_on_the_time(); });
}

void ZooKeeperLeaders::look_for_two() {
  std::size_t lead = 0;
  for (std::size_t i = 0; i < ensemble_.size(); ++i) {
    lead += ensemble_.peer(i).role() == zookeeper::Role::leading ? 1U : 0U;
  }
  const Nanos now = room_.world.now();
  if (lead > 1) {
    if (now > until_ + near) from_ = now - between_looks;
    until_ = now + between_looks;
  }
  room_.world.after(between_looks, [this] { look_for_two(); });
}

}  // namespace simulation
