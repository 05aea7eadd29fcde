// SPDX-License-Identifier: MIT
#include "simulation/scene/stand.hpp"

#include "base/mutant.hpp"
#include "simulation/scene/stands.hpp"

#include <stdexcept>

namespace simulation {

std::size_t specials_of(Kind kind) {
  switch (kind) {
    case Kind::memory: return memory_specials;
    case Kind::redis: return redis_specials;
    case Kind::sentinel:
    case Kind::replicas: return redis_sentinel_specials;
    case Kind::cluster: return redis_cluster_specials;
    case Kind::redlock: return redlock_specials;
    case Kind::zookeeper: return zookeeper_specials;
    case Kind::postgres: return postgres_specials;
  }
  return 0;
}

std::unique_ptr<Stand> make_stand(const Plan& plan, Room& room) {
  switch (plan.kind) {
    case Kind::memory: return make_memory_stand(plan, room);
    case Kind::redis: return make_redis_stand(plan, room, mortise::base::active_mutant);
    case Kind::sentinel:
    case Kind::replicas: return make_redis_sentinel_stand(plan, room, mortise::base::active_mutant);
    case Kind::cluster: return make_redis_cluster_stand(plan, room, mortise::base::active_mutant);
    case Kind::redlock: return make_redlock_stand(plan, room, mortise::base::active_mutant);
    case Kind::zookeeper: return make_zookeeper_stand(plan, room);
    case Kind::postgres: return make_postgres_stand(plan, room, mortise::base::active_mutant);
  }
  throw std::invalid_argument("no such kind of store");
}

}  // namespace simulation
