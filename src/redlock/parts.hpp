// SPDX-License-Identifier: MIT
// The common state of the parts of a client.
#pragma once

#include <mortise/backend.hpp>

#include "redlock/attempts.hpp"
#include "redlock/servers.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

namespace mortise::redlock {

class Polling;
class Releases;
class Renewals;
class Rounds;
class Waits;

/// A vote ends at most this much later than its hold: the safety margin, and the time to the
/// server.
constexpr std::chrono::seconds end_at_the_servers{2};

/// @thread_safety as each of them; the pointers are set before the first request
struct Parts {
  const std::string& words;  ///< of the store, for messages
  const Requests& requests;
  Host& host;
  const std::shared_ptr<Clock>& clock;
  Servers& servers;
  Attempts& attempts;
  std::atomic<int>& awaited;  ///< requests whose answers a caller waits for
  Polling* polling = nullptr;
  Rounds* rounds = nullptr;
  Waits* waits = nullptr;
  Releases* releases = nullptr;
  Renewals* renewals = nullptr;

  [[nodiscard]] Instant now() const noexcept { return clock->now(); }
  [[nodiscard]] Quorum quorum() const noexcept { return servers.quorum(); }
};

}  // namespace mortise::redlock
