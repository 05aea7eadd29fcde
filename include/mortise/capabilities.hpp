// SPDX-License-Identifier: MIT
// What a backend can and cannot do, so that a program decides at start instead of finding out.
#pragma once

#include <chrono>
#include <optional>

namespace mortise {

/// An honest answer has three values.
enum class Support { no, yes, unknown };

/// The part of a lease that the client does not use: max(`permille` of the lease, `least`), beside
/// the drift of the two clocks (0.1 %).
struct SafetyMargin {
  int permille = 10;                    ///< thousandths of the lease
  std::chrono::milliseconds least{20};  ///< the smallest margin
};

/// The properties of one backend. Each backend's page under docs/ explains its answers.
struct Capabilities {
  /// A hold ends by itself when its client goes silent. Where not (`file:`), the operating system
  /// frees it at the end of the process.
  Support leases = Support::unknown;
  /// The lease of every hold where the backend decides it (a session time-out); empty =
  /// `LockOptions::lease`.
  std::optional<std::chrono::milliseconds> effective_lease{};
  Support fencing = Support::unknown;            ///< every grant has a growing token
  Support fair = Support::unknown;               ///< turns in the order of arrival at the server
  Support push_wakeup = Support::unknown;        ///< waiters are woken, they do not poll
  Support one_wake = Support::unknown;           ///< one release wakes one waiter
  Support survives_restart = Support::unknown;   ///< holds and tokens survive a server restart
  Support survives_failover = Support::unknown;  ///< and the loss of a primary server
  Support shared_mode = Support::no;             ///< read/write holds
  Support once = Support::no;                    ///< keys with a memory: `Client::once()`
  SafetyMargin safety_margin{};                  ///< see there
  Support lists = Support::no;                   ///< names that are held: `Client::list()`
  Support queues = Support::no;                  ///< who holds and waits: `Client::queue()`
  Support forces = Support::no;                  ///< ends others' holds: `Client::force_release()`
};

}  // namespace mortise
