// SPDX-License-Identifier: MIT
// In a cluster: the holds of one renewal lie in different slots, and a script has keys of one slot.
#pragma once

#include <mortise/operation.hpp>

#include <memory>
#include <vector>

namespace mortise::redis {

/// @return a renewal for each hold of that one, which is complete when all of them are: with what
/// each has learned of its hold, or, where none has learned anything, with a failure of one.
[[nodiscard]] std::vector<std::shared_ptr<Renewal>> parts_of(
    const std::shared_ptr<Renewal>& renewal);

}  // namespace mortise::redis
