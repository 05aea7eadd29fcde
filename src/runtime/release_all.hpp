// SPDX-License-Identifier: MIT
// Several calls of unlock() as one.
#pragma once

#include <mortise/guards.hpp>
#include <mortise/holder.hpp>
#include <mortise/owner.hpp>

#include "runtime/release_call.hpp"

#include <span>

namespace mortise::runtime {

/// Unlocks each once by its mode, in one flight of requests, and in the time of one. Without memory
/// for that it unlocks one after the other.
/// @return as `Guards::release()`.
Released release_all(std::span<const HeldSlot> slots, Owner owner, Unlocking by) noexcept;

}  // namespace mortise::runtime
