// SPDX-License-Identifier: MIT
// The Redlock backend: a quorum over independent Redis masters. A lock is held where a majority of
// them says so.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/export.hpp>

#include <memory>
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

}  // namespace mortise::redlock
