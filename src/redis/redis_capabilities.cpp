// SPDX-License-Identifier: MIT
// What a lock on Redis can promise: parts of RedisBackend. The reasons are in docs/stores/redis.md.
#include "redis/redis_backend.hpp"

namespace mortise::redis {

Capabilities RedisBackend::capabilities() const {
  const Support fair = settings_.queue_mode == QueueMode::fair ? Support::yes : Support::no;
  return {.leases = Support::yes,
          .fencing = Support::yes,
          .fair = fair,
          .push_wakeup = Support::yes,
          .one_wake = settings_.queue_mode == QueueMode::redisson ? Support::no : Support::yes,
          // With persistence at each write; the server does not tell how its disk behaves.
          .survives_restart = Support::unknown,
          // Where that many replicas are all that may be promoted, which the server does not tell.
          .survives_failover = settings_.replicas > 0 ? Support::unknown : Support::no,
          // Redisson's RLock has no readers, and its read-write lock is another one.
          .shared_mode = settings_.queue_mode == QueueMode::redisson ? Support::no : Support::yes,
          .permits = Support::yes,
          .once = Support::yes,
          .min_hold = Support::yes,
          .lists = Support::yes,
          .queues = Support::yes,
          .forces = Support::yes};
}

std::string RedisBackend::describe() const {
  return settings_.is_cluster() ? "redis cluster " + settings_.address.text() : settings_.where();
}

}  // namespace mortise::redis
