// SPDX-License-Identifier: MIT
// The Redlock backend: a quorum over independent Redis masters. A lock is held where a majority of
// them says so.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

/// A quorum over independent Redis masters.
namespace mortise::redlock {

/// Opens `redlock://[user[:password]@]host[:port],host[:port],...[/database]`, `redlocks://...`
/// (TLS) or `redlock+unix:///path/of/socket,/path/of/another,...`, with 3 to 15 servers. Reads text
/// only, and the files of the TLS parameters.
///
/// Parameters, which count for all servers: `db`, `password-file`, `password-env`, `client-name`,
/// `prefix` (`mortise:`), `eviction=accepted`; with `redlocks`: `ca`, `cert`, `key`, `server-name`,
/// `verify=yes|no` (yes). See docs/redlock.md.
/// @errors `misconfigured` (the message names the part), thrown as `LockError`; one server under
/// two addresses is `misconfigured` too, as soon as both have answered
[[nodiscard]] MORTISE_API std::unique_ptr<Backend> backend(std::string_view url);

/// Takes a lock from whoever holds it, for an administrator: its votes are taken back on every
/// server that can be reached. When this returns, a majority has done that and takes no late
/// request of the holder's any more, so its next renewal tells it (`lost()`), and every later token
/// is larger. The votes on servers that cannot be reached end with their lease; they are a
/// minority.
///
/// What the holder does without looking at `lost()`, only a store that checks tokens can refuse.
/// @param url as for `backend()`; connections of its own are made
/// @param name the lock's name
/// @param wait the longest wait
/// @param of the hold that is meant, by its token, and no other; 0 = whichever is found
/// @return who held it, when it was asked: that hold is over; nothing = it was free
/// @errors `unavailable` (fewer than a majority have answered: that hold may be over, or not),
/// `denied`, `misconfigured`, `protocol`, thrown as `LockError`
/// @blocking up to `wait`, and 0.75 s for servers that stand still
MORTISE_API std::optional<Holder> force_release(std::string_view url, std::string_view name,
                                                std::chrono::milliseconds wait, Token of = {});

}  // namespace mortise::redlock
