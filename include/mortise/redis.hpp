// SPDX-License-Identifier: MIT
// The Redis backend: one master, Redis 6.2 or newer, or Valkey.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/connector.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

/// A Redis master, 6.2 or newer, or Valkey, at an address or found by its sentinels; or a Redis
/// Cluster, 7.0 or newer.
namespace mortise::redis {

/// Opens `redis://[user[:password]@]host[:port][/database]`, `rediss://...` (TLS),
/// `redis+unix:///path/of/socket`, a master by its sentinels,
/// `redis+sentinel://[user[:password]@]host[:port],host[:port].../master[/database]` and
/// `rediss+sentinel://...`, or a cluster by some of its servers,
/// `redis+cluster://[user[:password]@]host[:port],host[:port]...` and `rediss+cluster://...`. Reads
/// text only, and the files of the TLS parameters.
///
/// Parameters: `db`, `password-file`, `password-env`, `client-name`, `prefix` (`mortise:`),
/// `fair=yes|no` (yes), `interop=redisson`, `remember` (3600 s), `replicas=0..8` (0),
/// `eviction=accepted`; with sentinels: `sentinel-user`, `sentinel-password-file`,
/// `sentinel-password-env`; with `rediss`: `ca`, `cert`, `key`, `server-name`, `verify=yes|no`
/// (yes). See docs/redis.md.
/// @errors `misconfigured` (the message names the part), `unsupported` (`interop` and `replicas` of
/// a cluster), thrown as `LockError`
[[nodiscard]] MORTISE_API std::unique_ptr<Backend> backend(std::string_view url);

/// The same over connections that `connector` makes: two at a time, both to one server.
/// @param connector see `Connector`
/// @errors as `backend(url)`; `misconfigured` (an empty connector), `unsupported` (sentinels,
/// a cluster), thrown as `LockError`
[[nodiscard]] MORTISE_API std::unique_ptr<Backend> backend(std::string_view url,
                                                           Connector connector);

/// Takes a lock from whoever holds it, for an administrator: the holder is told (`lost()`), its
/// renewals and its release find nothing, and every later token is larger than its own.
///
/// What it does without looking at `lost()`, only a store that checks tokens can refuse.
/// @param url as for `backend()`; a connection of its own is made
/// @param name the lock's name
/// @param wait the longest wait
/// @param of the hold that is meant, by its token, and no other; 0 = whichever is found
/// @return who held it, when it was asked: that hold is over; nothing = it was free
/// @errors `unavailable`, `denied`, `misconfigured`, `unsupported`, `protocol`, thrown as
/// `LockError`
/// @blocking up to `wait`
MORTISE_API std::optional<Holder> force_release(std::string_view url, std::string_view name,
                                                std::chrono::milliseconds wait, Token of = {});

}  // namespace mortise::redis
