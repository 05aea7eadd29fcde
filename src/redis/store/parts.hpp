// SPDX-License-Identifier: MIT
// What the parts of a client's Redis backend share.
#pragma once

#include <mortise/backend.hpp>

#include "redis/beside/redisson_side.hpp"
#include "redis/connection/server.hpp"
#include "redis/store/attempts.hpp"
#include "redis/store/call.hpp"
#include "redis/store/requests.hpp"
#include "redis/store/settings.hpp"
#include "remote/ask_turns.hpp"
#include "remote/exchange.hpp"

#include <memory>
#include <string>

namespace mortise::redis {

class Polling;
class ReplicaGate;
class Topology;
using Exchange = remote::Exchange<Call, Server, Attempts>;

/// @return the store in words, for messages.
[[nodiscard]] inline std::string words_of(const Settings& settings) {
  return settings.is_cluster() ? "redis cluster " + settings.address.text() : settings.where();
}

/// @thread_safety as each of them; the pointers are set before the first request
struct Parts {
  const Settings& settings;
  const Requests& requests;
  Host& host;
  Clock& clock;
  Attempts& attempts;
  remote::AskTurns& turns;
  Polling* polling = nullptr;
  Exchange* exchange = nullptr;
  Topology* topology = nullptr;
  ReplicaGate* gate = nullptr;       ///< null without `replicas=n`
  RedissonSide* redisson = nullptr;  ///< null without `interop=redisson`

  [[nodiscard]] Instant now() const noexcept { return clock.now(); }
  [[nodiscard]] std::string describe() const { return words_of(settings); }
  /// @return null = the locks of that mode mean nothing to Redisson.
  [[nodiscard]] RedissonSide* redisson_of(Mode mode) const noexcept {
    return mode == Mode::exclusive ? redisson : nullptr;
  }

  /// A waiter asks again, by itself or together with others.
  void ask_in_turn(const std::shared_ptr<Acquisition>& waiter) const;
};

}  // namespace mortise::redis
