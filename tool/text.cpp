// SPDX-License-Identifier: MIT
#include "text.hpp"

#include <cstddef>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

void append_hex(std::string& to, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  to += digits[value >> 4U];
  to += digits[value & 15U];
}

/// As `\uXXXX`; beyond U+FFFF as the two surrogates of UTF-16 (RFC 8259, 7).
void append_unit(std::string& to, char32_t code) {
  if (code > 0xFFFF) {
    append_unit(to, 0xD800 + ((code - 0x10000) >> 10U));
    code = 0xDC00 + ((code - 0x10000) & 0x3FFU);
  }
  to += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) to += digits[(code >> shift) & 15U];
}

int digit_of(char digit) {
  const std::size_t value = digits.find(digit);
  return value == std::string_view::npos ? -1 : static_cast<int>(value);
}

}  // namespace

std::string escaped(std::string_view bytes) {
  std::string doubled;
  for (const char byte : bytes) {
    if (byte == '\\') doubled += '\\';
    doubled += byte;
  }
  return base::printable(std::move(doubled));
}

std::optional<std::string> bytes_of(std::string_view shown) {
  std::string bytes;
  while (!shown.empty()) {
    if (shown[0] != '\\') {
      bytes += shown[0];
      shown.remove_prefix(1);
    } else if (shown.size() >= 2 && shown[1] == '\\') {
      bytes += '\\';
      shown.remove_prefix(2);
    } else if (shown.size() >= 4 && shown[1] == 'x' && digit_of(shown[2]) >= 0 &&
               digit_of(shown[3]) >= 0) {
      bytes += static_cast<char>(digit_of(shown[2]) * 16 + digit_of(shown[3]));
      shown.remove_prefix(4);
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

std::string json_string(std::string_view bytes) {
  std::string json = "\"";
  while (!bytes.empty()) {
    const base::Character next = base::first_character(bytes);
    const std::string_view raw = bytes.substr(0, next.length);
    bytes.remove_prefix(next.length);
    if (!next.valid) {
      json += "\\ufffd";
    } else if (raw == "\"" || raw == "\\") {
      (json += '\\') += raw;
    } else if (base::is_visible(next)) {
      json += raw;
    } else {
      append_unit(json, next.code);
    }
  }
  return json += '"';
}

std::string json_token(Token token) {
  return token ? '"' + std::to_string(token.value()) + '"' : "null";
}

std::string json_member(std::string_view key, std::string_view bytes) {
  std::string json = json_string(key) + ":" + json_string(bytes);
  bool utf8 = true;
  for (std::string_view rest = bytes; utf8 && !rest.empty();) {
    const base::Character next = base::first_character(rest);
    utf8 = next.valid;
    rest.remove_prefix(next.length);
  }
  if (utf8) return json;
  json += "," + json_string(std::string(key) + "_hex") + ":\"";
  for (const char byte : bytes) append_hex(json, byte);
  return json += '"';
}

}  // namespace mortise::tool
