// SPDX-License-Identifier: MIT
// What holds of another shape than one lock cost on Redis.
#pragma once

#include "placement.hpp"

namespace mortise::bench {

/// The p50 of a `lock_all()` of eight free names and its unlock, in microseconds.
[[nodiscard]] double redis_lock_all_8(Mode mode);
/// Eight processes take two names as one, a thousand times together, half of them each way round,
/// without a pause. @return the p99 of a `lock_all()` and its unlock, in microseconds
[[nodiscard]] double redis_opposed_pairs(Mode mode);

}  // namespace mortise::bench
