// SPDX-License-Identifier: MIT
// The fields of the hash of a lock of redis:, by the names that part/fields.lua gives them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::test {

/// @return the name under which Redis has a field: a letter for those that each held lock has.
[[nodiscard]] inline std::string stored_field(std::string_view name) {
  constexpr auto letters = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"owner", "o"}, {"lease", "l"}, {"grant", "g"}, {"label", "n"}});
  for (const auto& [each, letter] : letters) {
    if (each == name) return std::string(letter);
  }
  return std::string(name);
}

}  // namespace mortise::test
