// SPDX-License-Identifier: MIT
// Asynchronous calls on Redis: many cycles of one client at the same time, waits for names that
// another client holds, and the hand-off between the event loops of two processes.
#pragma once

#include <mortise/options.hpp>

#include "figure.hpp"
#include "placement.hpp"

#include <cstddef>

namespace mortise::bench {

/// The rate of cycles (`acquire_async()`, then `unlock_async()`) of that many coroutines, each with
/// a name of its own, through one client. Counted over a second, after each name was held once.
/// @param drive `program`: the measuring thread polls the client, and no other thread runs
/// @throws std::runtime_error if a call fails or the client connects again
[[nodiscard]] Rate async_cycles(Mode mode, std::size_t coroutines, Drive drive = Drive::program);

/// The bytes on the client's heap for each asynchronous wait, while 10,000 of them wait for names
/// that another client holds. @throws std::runtime_error if a wait ends
[[nodiscard]] double memory_of_a_pending_acquire(Mode mode);

/// As `redis_cycle()` and `redis_handoff()`, but asynchronous calls take and free the name, and the
/// thread sleeps in the `poll()` of its event loop.
[[nodiscard]] double redis_async_cycle(Mode mode);
[[nodiscard]] double redis_async_handoff(Mode mode);

}  // namespace mortise::bench
