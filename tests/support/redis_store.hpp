// SPDX-License-Identifier: MIT
// A private Redis as a store of the contract suite, reached in one of the ways that users have.
#pragma once

#include "support/contract_backend.hpp"
#include "support/proxy.hpp"
#include "support/redis_server.hpp"

#include <memory>
#include <string>

namespace mortise::contract {

/// The way to the server.
enum class RedisWay {
  network,    ///< plain, through a proxy that can misbehave; no other processes. This way, and by
              ///< the next, comes a user who may do what docs/stores/redis.md says, and no more
  direct,     ///< plain
  socket,     ///< a unix socket
  encrypted,  ///< TLS, with certificates on both sides
};

/// @return the rights of a client as docs/stores/redis.md gives them, without the user's name and
/// password.
[[nodiscard]] std::string least_redis_privilege(const std::string& name = "redis.md");

/// A cluster of three masters, one for all tests of a process: it takes seconds to come up.
[[nodiscard]] BackendUnderTest redis_cluster_backend();

[[nodiscard]] BackendUnderTest redis_backend(RedisWay way, const std::string& parameters = {});

}  // namespace mortise::contract
