// SPDX-License-Identifier: MIT
// What one client of this process holds and waits for, as its own memory has it.
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
/// Each name's entry is consistent: it was so at one moment. Entries of different names, and the
/// permits of one semaphore, may be of slightly different moments. It never authorises anything.
struct Snapshot {
  /// A hold of this client: of a lock, a reader, a permit, or a run of a key.
  struct Hold {
    std::string label{};  ///< `LockOptions::label` of the owner; "host:pid" unless it was set
    Mode mode = Mode::exclusive;
    Token token{};
    /// How long the owner has held the name.
    std::chrono::nanoseconds age{0};
    /// How long the hold is still certain, as `Lock::valid_for()`; `nanoseconds::max()` if nothing
    /// ends it. A hold that is about to be reported as lost has 0.
    std::chrono::nanoseconds valid_for{0};
    /// Why the last renewal failed; empty if it succeeded, or none was needed yet. The client
    /// repeats the renewal until `valid_for` is 0.
    Failure renewal{};
  };
  /// A call of this client that waits, in its own thread.
  struct Waiter {
    std::string label{};  ///< as `Hold::label`
    Mode mode = Mode::exclusive;
    /// How long ago the call began.
    std::chrono::nanoseconds age{0};
  };
  /// One name, key or semaphore.
  struct Name {
    std::string name{};  ///< any bytes, so escape it before you print it
    /// Locks, keys and semaphores are spaces of their own: `exclusive` for a lock, even if readers
    /// hold it, `once` for a key, `permit` for a semaphore.
    Mode space = Mode::exclusive;
    std::vector<Hold> holds{};      ///< empty: this client does not hold it
    std::vector<Waiter> waiters{};  ///< the next one first; of a semaphore in no order
    /// Another client's hold, as the store described it when it last told a waiter of this client
    /// to wait: label, token and mode. Empty if the store has not answered, or does not say who.
    /// That hold may have ended since.
    std::optional<Holder> holder{};
  };
  /// In no order.
  std::vector<Name> names{};
};

}  // namespace mortise
