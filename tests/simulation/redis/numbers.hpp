// SPDX-License-Identifier: MIT
// Numbers and words as Redis reads them.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace simulation::redis {

/// @return the number of 64 bits that is written like this and in no other way: no sign but '-', no
/// zeros in front, no blanks
[[nodiscard]] inline std::optional<std::int64_t> parse_integer(std::string_view text) noexcept {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.empty() || read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  const std::string_view digits = text.substr(text.front() == '-' ? 1 : 0);
  if (digits.front() == '0' && text.size() > 1) return std::nullopt;
  return value;
}

/// @return the small letter of a capital
[[nodiscard]] constexpr char small(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// @param word in small letters
[[nodiscard]] inline bool is_word(std::string_view text, std::string_view word) noexcept {
  return text.size() == word.size() && std::equal(text.begin(), text.end(), word.begin(),
                                                  [](char a, char b) { return small(a) == b; });
}

/// @return what C takes for the text: all before the first zero byte
[[nodiscard]] constexpr std::string_view c_text(std::string_view text) noexcept {
  return text.substr(0, text.find('\0'));
}

}  // namespace simulation::redis
