// SPDX-License-Identifier: MIT
// Polling for those who run sources themselves, since no client does: an administrator's one-shot
// operation, and a backend at its end.
#pragma once

#include <mortise/backend.hpp>

#include <vector>

namespace mortise::base {

/// Polls once, until one of them has something to do or `until` has come, and has them do it.
/// @param sources may be changed by what they do, but must live until it returns
void poll_sources(const std::vector<Source*>& sources, const Clock& clock, Instant until);

}  // namespace mortise::base
