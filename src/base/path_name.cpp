// SPDX-License-Identifier: MIT
// Escapes the bytes of a name.
#include "base/path_name.hpp"

namespace mortise::base {
namespace {

constexpr std::string_view digits = "0123456789ABCDEF";

bool stays(char c, bool first) noexcept {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || (c == '.' && !first);
}

}  // namespace

std::string path_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (stays(c, out.empty())) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
  return out;
}

std::optional<std::string> name_in_path(std::string_view component) {
  std::string name;
  for (std::size_t at = 0; at < component.size(); ++at) {
    if (component[at] != '%') {
      name += component[at];
      continue;
    }
    if (component.size() - at < 3) return std::nullopt;
    const std::size_t high = digits.find(component[++at]);
    const std::size_t low = digits.find(component[++at]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    name += static_cast<char>(high * 16 + low);
  }
  // A stranger may have escaped what stays, or left what does not.
  return path_name(name) == component ? std::optional(std::move(name)) : std::nullopt;
}

}  // namespace mortise::base
