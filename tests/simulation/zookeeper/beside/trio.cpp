// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/beside/trio.hpp"

#include <stdexcept>
#include <string>

namespace simulation::zookeeper {
namespace {

constexpr std::chrono::seconds to_elect{60};

}  // namespace

ModelTrio::ModelTrio(std::uint64_t seed)
    : place_(size, seed,
             {.tick = trio_tick,
              .max_session = std::chrono::seconds(60),
              .sync_limit = trio_sync_limit,
              .init_limit = trio_init_limit,
              // Containers go when nobody asks for it, which would be at another moment here and
              // there.
              .containers = std::chrono::hours(500)}) {
  const auto all_serve = [&] {
    for (std::size_t i = 0; i < size; ++i) {
      if (!place_.ensemble().peer(i).serving()) return false;
    }
    return true;
  };
  if (!place_.sites().run_until(all_serve, to_elect)) throw std::runtime_error("nobody leads");
}

std::size_t ModelTrio::leader() {
  if (!place_.sites().run_until([&] { return place_.ensemble().leader().has_value(); }, to_elect)) {
    throw std::runtime_error("the model elects no leader");
  }
  return *place_.ensemble().leader();
}

void ModelTrio::restart(std::size_t which) {
  place_.sites().restart(which);
  place_.ensemble().server(which).restarted(true);
}

RealTrio::RealTrio(Links links)
    : all_({.tick = trio_tick,
            .lines = {"syncLimit=" + std::to_string(trio_sync_limit),
                      "initLimit=" + std::to_string(trio_init_limit)},
            .jvm = {"-Dzookeeper.forceSync=no", "-Dznode.container.checkIntervalMs=2000000000"}},
           links) {
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < size; ++i) ports.push_back(all_.server(i).port());
  place_ = std::make_unique<RealPlace>(std::move(ports));
}

Nanos RealTrio::now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace simulation::zookeeper
