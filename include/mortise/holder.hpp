// SPDX-License-Identifier: MIT
// What can be learned about whoever holds a lock now, and the answers of a release.
#pragma once

#include <mortise/mode.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace mortise {

/// A holder as the backend knows it at one moment; it may be gone already. Never authorises.
struct Holder {
  std::string label{};  ///< `LockOptions::label` of the holder; "host:pid" unless it was set
  Token token{};        ///< token of the hold, or 0 where the backend does not tell
  std::optional<std::chrono::milliseconds>
      expires_in{};                      ///< end of its lease; empty: unknown, none
  std::optional<std::size_t> waiters{};  ///< waiters at the server; empty: unknown
  Mode mode = Mode::exclusive;           ///< `shared`: the first of its readers, of maybe many
};

/// What `release()` found.
enum class Released {
  released,  ///< the hold was ours until now, and is freed
  was_lost,  ///< the hold had ended before; somebody else may have held the lock since
  unknown,   ///< the answer was not learned; the hold ends at its deadline at the latest
};

}  // namespace mortise
