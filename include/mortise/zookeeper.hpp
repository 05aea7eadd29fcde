// SPDX-License-Identifier: MIT
// The ZooKeeper backend: a server or an ensemble, version 3.5 or newer.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

/// A ZooKeeper server or ensemble, 3.5 or newer.
namespace mortise::zookeeper {

/// Opens `zookeeper://[user:password@]host[:port][,host[:port]...][/path]`. Reads text only.
///
/// Parameters: `session` (10s), `margin` (1s), `acl=world|creator`, `password-file`,
/// `password-env`. See docs/zookeeper.md.
/// @errors `misconfigured` (the message names the part), thrown as `LockError`
[[nodiscard]] MORTISE_API std::unique_ptr<Backend> backend(std::string_view url);

/// Takes a lock from whoever holds it, for an administrator: the node at the head of the queue is
/// deleted. Mortise's holder is told (`lost()`), late if it holds more than 32 locks (see
/// docs/zookeeper.md); Curator's and kazoo's are not.
///
/// What the holder does without looking at `lost()`, only a store that checks tokens can refuse.
/// @param url as for `backend()`; a session of its own is made
/// @param name the lock's name
/// @param wait the longest wait
/// @param of the hold that is meant, by its token, and no other; 0 = whichever is found
/// @return who held it, when it was asked: that hold is over; nothing = it was free
/// @errors `unavailable`, `denied`, `misconfigured`, `protocol`, thrown as `LockError`
/// @blocking up to `wait`
MORTISE_API std::optional<Holder> force_release(std::string_view url, std::string_view name,
                                                std::chrono::milliseconds wait, Token of = {});

}  // namespace mortise::zookeeper
