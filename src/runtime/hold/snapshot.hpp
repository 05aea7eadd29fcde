// SPDX-License-Identifier: MIT
// What the slots of a client hold and wait for, collected for an operator.
#pragma once

#include <mortise/snapshot.hpp>

namespace mortise::runtime {

class Names;

/// @return what these names hold and wait for. Each slot is read under its own mutex.
[[nodiscard]] Snapshot snapshot_of(Names& names);

}  // namespace mortise::runtime
