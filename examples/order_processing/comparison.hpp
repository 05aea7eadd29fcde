// SPDX-License-Identifier: MIT
// The two runs beside each other: without locks, and with them.
#pragma once

#include "audit.hpp"

namespace shop {

/// What protects a run.
enum class With { nothing, locks, locks_and_memory };

struct Result {
  Audit audit;
  bool killed = false;
};

inline constexpr int right = 0;
inline constexpr int wrong = 1;

/// Says what the runs show.
/// @param with null: there was only the run without locks
/// @param what protected that one
/// @return `right` if they show what they are to show
[[nodiscard]] int judge(const Result& without, const Result* with, With what);

}  // namespace shop
