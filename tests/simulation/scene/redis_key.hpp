// SPDX-License-Identifier: MIT
// The key of a lock in Redis, by the name or by its number in a run.
#pragma once

#include "simulation/scene/bounds.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace simulation {

[[nodiscard]] inline std::string key_of(std::string_view name) {
  return std::string("mortise:{").append(name).append("}");
}
[[nodiscard]] inline std::string key_of(std::size_t name) { return key_of(lock_name(name)); }

}  // namespace simulation
