// SPDX-License-Identifier: MIT
// Goal: the Redis backend keeps the contract, however the server is reached. Method: the contract
// suite, on a private server a test, where plain connections are those of a user who may do what
// docs/stores/redis.md gives it and no more.
#include "support/contract_suites.hpp"
#include "support/redis_sentinel_store.hpp"
#include "support/redis_store.hpp"

namespace mortise::contract {

MORTISE_CONTRACT(Redis, redis_backend(RedisWay::network));
MORTISE_CONTRACT(RedisSocketLong, redis_backend(RedisWay::socket));
MORTISE_CONTRACT(RedisTls, redis_backend(RedisWay::encrypted));
MORTISE_CONTRACT(RedisCluster, redis_cluster_backend());
// Those suites that have tests with several processes, which have no proxy in between.
MORTISE_CONTRACT_OF(RedisDirect, redis_backend(RedisWay::direct), Exclusion, Crash, Fork, MinHold,
                    Runs);
MORTISE_CONTRACT_OF(RedisSentinel, redis_sentinel_backend(), Exclusion, Crash, Traits);
MORTISE_CONTRACT(RedisSentinelLong, redis_sentinel_backend());

}  // namespace mortise::contract
