// SPDX-License-Identifier: MIT
// The parts of a client's Redis backend, made and connected.
#pragma once

#include <mortise/backend.hpp>

#include "redis/call_writer.hpp"
#include "redis/events.hpp"
#include "redis/parts.hpp"
#include "redis/polling.hpp"
#include "redis/replica_gate.hpp"
#include "redis/topology.hpp"
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
