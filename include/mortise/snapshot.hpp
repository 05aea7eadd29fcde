// SPDX-License-Identifier: MIT
// The names that one client of this process holds or waits for, from the memory of that client.
#pragma once

#include <mortise/error.hpp>
#include <mortise/holder.hpp>
#include <mortise/mode.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace mortise {

/// The answer of `Client::snapshot()`: the names that the client holds or waits for.
///
/// Each entry describes its name at one moment. The entries of different names, and the permits of
/// one semaphore, may describe slightly different moments. Do not use a snapshot to authorise
/// anything.
struct Snapshot {
  /// One hold of this client: an exclusive lock, a shared lock, a permit, or the run of a key.
  struct Hold {
    std::string label{};  ///< `LockOptions::label` of the owner; "host:pid" if unset
    Mode mode = Mode::exclusive;
    Token token{};
    /// How long the owner has held the name.
    std::chrono::nanoseconds age{0};
    /// How long the hold is certain to last, as `Lock::valid_for()`. `nanoseconds::max()` if the
    /// hold has no end. 0 if the client is about to report the hold as lost.
    std::chrono::nanoseconds valid_for{0};
    /// Why the last renewal failed; empty if the renewal succeeded, or if no renewal was necessary
    /// yet. The client repeats the renewal until `valid_for` is 0.
    Failure renewal{};
  };
  /// One call of this client that waits in its own thread.
  struct Waiter {
    std::string label{};  ///< as `Hold::label`
    Mode mode = Mode::exclusive;
    /// How long ago the call began.
    std::chrono::nanoseconds age{0};
  };
  /// One name, key or semaphore.
  struct Name {
    std::string name{};  ///< any bytes, so escape it before you print it
    /// The kind of the name: `exclusive` for a lock (even if readers hold it), `once` for a key,
    /// `permit` for a semaphore. Locks, keys and semaphores of the same name are independent.
    Mode space = Mode::exclusive;
    std::vector<Hold> holds{};      ///< empty if this client does not hold the name
    std::vector<Waiter> waiters{};  ///< the next waiter first; no particular order for a semaphore
    /// The last holder in another client that the store reported to a waiter of this client, with
    /// label, token and mode. Empty if the store has not answered, or does not report holders. The
    /// hold may have ended since then.
    std::optional<Holder> holder{};
  };
  /// The names are in no particular order.
  std::vector<Name> names{};
};

}  // namespace mortise
