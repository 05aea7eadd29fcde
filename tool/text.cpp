// SPDX-License-Identifier: MIT
#include "text.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

void append_hex(std::string& to, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  to += digits[value >> 4U];
  to += digits[value & 15U];
}

/// One character at the front of the bytes. RFC 3629: no overlong form, no surrogate.
struct Character {
  std::size_t length = 1;
  char32_t code = 0;
  bool valid = false;
};

Character first_of(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned lead = at(0);
  if (lead < 0x80) return {1, lead, true};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return {};
  char32_t code = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0U) != 0x80) return {};
    code = (code << 6U) | (at(i) & 0x3FU);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  return {length, code, true};
}

/// What moves the cursor, turns the direction of the text so that it reads as something else, or
/// has no width: two names that look the same are to be the same. (By UnicodeData.txt 15: Cc, Cf,
/// Zl, Zp, and the letters and variation selectors that show nothing.)
bool is_unseen(char32_t code) {
  constexpr std::pair<char32_t, char32_t> ranges[] = {
      {0, 0x1F},          {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},
      {0x600, 0x605},     {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},
      {0x890, 0x891},     {0x8E2, 0x8E2},     {0x115F, 0x1160},   {0x17B4, 0x17B5},
      {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
      {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
      {0xFFF0, 0xFFFB},   {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F},
      {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};
  return std::any_of(std::begin(ranges), std::end(ranges), [code](const auto& range) {
    return code >= range.first && code <= range.second;
  });
}

int digit_of(char digit) {
  const std::size_t value = digits.find(digit);
  return value == std::string_view::npos ? -1 : static_cast<int>(value);
}

}  // namespace

std::string printable(std::string_view bytes) {
  std::string shown;
  while (!bytes.empty()) {
    const Character next = first_of(bytes);
    const std::string_view raw = bytes.substr(0, next.length);
    bytes.remove_prefix(next.length);
    if (raw == "\\") {
      shown += "\\\\";
    } else if (next.valid && !is_unseen(next.code)) {
      shown += raw;
    } else {
      for (const char byte : raw) {
        shown += "\\x";
        append_hex(shown, byte);
      }
    }
  }
  return shown;
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
    const Character next = first_of(bytes);
    const std::string_view raw = bytes.substr(0, next.length);
    bytes.remove_prefix(next.length);
    if (!next.valid) {
      json += "\\ufffd";
    } else if (raw == "\"" || raw == "\\") {
      (json += '\\') += raw;
    } else if (next.code < 0x20 || next.code == 0x7F) {
      json += "\\u00";
      append_hex(json, raw[0]);
    } else {
      json += raw;
    }
  }
  return json += '"';
}

std::string json_member(std::string_view key, std::string_view bytes) {
  std::string json = json_string(key) + ":" + json_string(bytes);
  bool utf8 = true;
  for (std::string_view rest = bytes; utf8 && !rest.empty();) {
    const Character next = first_of(rest);
    utf8 = next.valid;
    rest.remove_prefix(next.length);
  }
  if (utf8) return json;
  json += "," + json_string(std::string(key) + "_hex") + ":\"";
  for (const char byte : bytes) append_hex(json, byte);
  return json += '"';
}

}  // namespace mortise::tool
