// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_trial.hpp"

#include <mortise/redis.hpp>

namespace simulation {

Process& RedisTrial::begin_client(const char* name,
                                  std::function<void(Process&, mortise::Client&)> life) {
  return begin(name, [this, life = std::move(life)](Process& process) {
    mortise::Client client(mortise::redis::backend(url_));
    life(process, client);
  });
}

Connection* RedisTrial::commands_of(const Process& process) const {
  return connection_of(process, false);
}

Connection* RedisTrial::inbox_of(const Process& process) const {
  return connection_of(process, true);
}

Connection* RedisTrial::connection_of(const Process& process, bool listens) const {
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() != &process || !connection->held()) continue;
    if (server_.channels_of(id).empty() != listens) return connection.get();
  }
  return nullptr;
}

}  // namespace simulation
