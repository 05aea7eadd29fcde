// SPDX-License-Identifier: MIT
// The parts of a client's Redis backend, made and connected.
#pragma once

#include <mortise/backend.hpp>

#include "redis/beside/replica_gate.hpp"
#include "redis/store/call_writer.hpp"
#include "redis/store/events.hpp"
#include "redis/store/parts.hpp"
#include "redis/store/polling.hpp"
#include "redis/topology/topology.hpp"
#include "remote/stream/tls.hpp"

#include <memory>
#include <optional>

namespace mortise::redis {

struct RedisClient {
  /// @param settings, tls, host outlive it; tls may be null
  RedisClient(const Settings& settings, const remote::Tls* tls, Host& host);

  const Requests requests;
  Server::Shared shared;  // its line is that of the attempts, too, which are asked for by servers
  Attempts attempts{shared.line, &shared.news};
  remote::AskTurns turns;
  Parts parts;
  Polling polling{parts};
  CallWriter writer{parts};
  Exchange exchange;
  Events events{parts};
  std::unique_ptr<Topology> topology;
  std::optional<ReplicaGate> gate;
  std::unique_ptr<RedissonSide> redisson;
};

}  // namespace mortise::redis
