// SPDX-License-Identifier: MIT
// Writes values of this library as text: to streams, and with std::format if the standard library
// has std::format.
#pragma once

#include <mortise/export.hpp>

#include <iosfwd>
#include <string_view>
#include <version>
#ifdef __cpp_lib_format
#include <format>
#endif

namespace mortise {

/// True for each type of this library that has a text form. Such a type has `to_string()` and
/// `operator<<`. If the standard library has `<format>`, `std::format("{}", value)` works with the
/// options of a string.
template <class T>
inline constexpr bool has_text = false;

/// Writes `to_string(value)`.
template <class Traits, class T>
requires has_text<T> std::basic_ostream<char, Traits>
&operator<<(std::basic_ostream<char, Traits>& out, const T& value) {
  return out << to_string(value);
}

}  // namespace mortise

#ifdef __cpp_lib_format
template <class T>
requires mortise::has_text<T>
struct std::formatter<T> : std::formatter<std::string_view> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    return std::formatter<std::string_view>::format(to_string(value), context);
  }
};
#endif
