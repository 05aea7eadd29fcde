// SPDX-License-Identifier: MIT
// Compares the two runs: without locks, and with locks.
#pragma once

#include "audit.hpp"

namespace shop {

/// The protection of a run.
enum class With { nothing, locks, locks_and_memory };

struct Result {
  Audit audit;
  bool killed = false;
};

inline constexpr int right = 0;
inline constexpr int wrong = 1;

/// Prints the result of the comparison.
/// @param with null: there was only the run without locks
/// @param what the protection of the run with locks
/// @return `right` if the first run has damage, and the second has none
[[nodiscard]] int judge(const Result& without, const Result* with, With what);

}  // namespace shop
