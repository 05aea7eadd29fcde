// SPDX-License-Identifier: MIT
// Deliberate mistakes for the simulation, which must find each of them. They exist only in the copy
// of the library that the simulation builds (MORTISE_MUTANTS); everywhere else each is a constant
// false, and the compiler removes the branch.
#pragma once

#include <string_view>

namespace mortise::base {

#ifdef MORTISE_MUTANTS
/// The one mistake of this run; empty = none. Set by the simulation before it starts.
inline std::string_view active_mutant;

/// @return whether the library is to make this mistake: "redis.push_by_attempt".
[[nodiscard]] inline bool mutant(std::string_view name) noexcept {
  return !active_mutant.empty() && active_mutant == name;
}
#else
[[nodiscard]] constexpr bool mutant(std::string_view /*name*/) noexcept { return false; }
#endif

}  // namespace mortise::base
