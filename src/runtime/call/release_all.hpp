// SPDX-License-Identifier: MIT
// Several calls of unlock() as one.
#pragma once

#include <mortise/guards.hpp>
#include <mortise/holder.hpp>
#include <mortise/owner.hpp>

#include "runtime/call/release_call.hpp"

#include <functional>
#include <span>

namespace mortise::runtime {

/// Unlocks each once by its mode, in one flight of requests, and in the time of one. Without memory
/// for that it unlocks one after the other.
/// @param how for each slot; `release_all()` uses the mode of the slot
/// @param may_wait for how long the caller may still wait; asked again and again, since that may
/// end at any moment. What is not answered by then the background finishes. Empty = for as long as
/// a release is waited for.
/// @return as `Guards::unlock()`.
Released release_all(std::span<const HeldSlot> slots, const Unlock& how,
                     const std::function<core::Nanos()>& may_wait = {}) noexcept;

/// For `release_all()`: it waits for no answer.
[[nodiscard]] inline core::Nanos no_wait() noexcept { return core::Nanos(0); }

}  // namespace mortise::runtime
