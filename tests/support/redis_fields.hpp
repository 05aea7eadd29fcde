// SPDX-License-Identifier: MIT
// The fields of the hash of a lock of redis:, by the names that part/fields.lua gives them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::test {

/// @return the name under which Redis has a field: a number for those that each held lock has.
[[nodiscard]] inline std::string stored_field(std::string_view name) {
  constexpr auto numbers = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"owner", "1"}, {"lease", "2"}, {"grant", "3"}, {"label", "4"}});
  for (const auto& [each, number] : numbers) {
    if (each == name) return std::string(number);
  }
  return std::string(name);
}

}  // namespace mortise::test
