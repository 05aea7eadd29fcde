// SPDX-License-Identifier: MIT
// What holds cost that stand beside others on Redis: readers, and permits of a semaphore.
#pragma once

#include "placement.hpp"

namespace mortise::bench {

/// Holds of one name as a reader, for 5 ms at a time, a second: of eight processes, and of one.
[[nodiscard]] double redis_readers_of_eight(Mode mode);
[[nodiscard]] double redis_readers_of_one(Mode mode);
/// The p99 of the wait of a writer, in milliseconds, where 32 clients read the name for 5 ms at a
/// time without a pause.
[[nodiscard]] double redis_writer_among_readers(Mode mode);

}  // namespace mortise::bench
