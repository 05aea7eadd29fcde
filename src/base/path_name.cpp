// SPDX-License-Identifier: MIT
// Escapes the bytes of a name, and hashes what would be too long for a component of a path.
#include "base/path_name.hpp"

namespace mortise::base {
namespace {

constexpr std::string_view digits = "0123456789ABCDEF";

__extension__ using Hash = unsigned __int128;

// FNV-1a with the 128-bit parameters of G. Fowler, L. C. Noll and K.-P. Vo. It need not resist an
// attacker: a collision costs the second name its service.
Hash fnv1a(std::string_view text) noexcept {
  constexpr Hash prime = (Hash{0x0000000001000000U} << 64U) | 0x000000000000013bU;
  Hash hash = (Hash{0x6c62272e07bb0142U} << 64U) | 0x62b821756295c58dU;
  for (const char byte : text) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= prime;
  }
  return hash;
}

bool stays(char c, bool first) noexcept {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || (c == '.' && !first);
}

std::string escaped(std::string_view name) {
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

std::string hashed(std::string_view name) {
  Hash hash = fnv1a(name);
  std::string hex(32, '0');
  for (std::size_t i = hex.size(); i-- > 0; hash >>= 4U) {
    hex[i] = digits[static_cast<std::size_t>(hash & 15U)];
  }
  return "%h-" + hex;
}

}  // namespace

std::string path_name(std::string_view name, std::size_t longest) {
  std::string out = escaped(name);
  if (out.size() > longest) out = hashed(name);
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
  return escaped(name) == component ? std::optional(std::move(name)) : std::nullopt;
}

}  // namespace mortise::base
