// SPDX-License-Identifier: MIT
// A text that is a number, and nothing else.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace mortise::base {

/// @return the number that all of the text is, in decimal digits; nothing = it is not a number, or
/// the number is not in that range.
template <class Number>
[[nodiscard]] std::optional<Number> whole_number(
    std::string_view text, Number least = std::numeric_limits<Number>::min(),
    Number most = std::numeric_limits<Number>::max()) noexcept {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number < least || number > most) return std::nullopt;
  return number;
}

}  // namespace mortise::base
