// SPDX-License-Identifier: MIT
// Which Redis the tests run with: the first redis-server of PATH, as RedisServer starts it.
#pragma once

namespace mortise::test {

/// @return 6, 7, ..., by which tests know what it cannot do; 0 = there is none.
[[nodiscard]] int redis_major_version();

}  // namespace mortise::test
