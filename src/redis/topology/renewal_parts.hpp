// SPDX-License-Identifier: MIT
// The holds of one renewal, each alone. In a cluster they lie in different slots, and a script has
// keys of one slot; and a server refuses a renewal as a whole where its user may not use one name.
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
