// SPDX-License-Identifier: MIT
// Text from outside as text that is safe to print: names, labels, a server's error, an argument.
// Everything that leaves the library or the tool as text goes through `printable()`. Header only,
// because the tool and each component need it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::base {

/// One character of UTF-8. RFC 3629: no overlong form, no surrogate.
struct Character {
  std::size_t length = 1;  ///< in bytes; 1 if it is not valid
  char32_t code = 0;
  bool valid = false;
};

/// @param bytes not empty
/// @return the character at the front of the bytes.
[[nodiscard]] inline Character first_character(std::string_view bytes) noexcept {
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

/// @return whether a reader sees the character. Not: what moves the cursor, what turns the
/// direction of the text so that it reads as something else, and what has no width: two names that
/// look the same must be the same. (UnicodeData.txt 15: Cc, Cf, Zl, Zp, and the letters and
/// variation selectors that show nothing.)
[[nodiscard]] inline bool is_visible(const Character& character) noexcept {
  constexpr std::pair<char32_t, char32_t> unseen[] = {
      {0, 0x1F},          {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},
      {0x600, 0x605},     {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},
      {0x890, 0x891},     {0x8E2, 0x8E2},     {0x115F, 0x1160},   {0x17B4, 0x17B5},
      {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
      {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
      {0xFFF0, 0xFFFB},   {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F},
      {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};
  return character.valid &&
         std::none_of(std::begin(unseen), std::end(unseen), [&](const auto& range) {
           return character.code >= range.first && character.code <= range.second;
         });
}

/// Appends the bytes as `\xNN` each.
inline void append_escaped(std::string& to, std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    (to += "\\x") += digits[value >> 4U];
    to += digits[value & 15U];
  }
}

/// @return whether all of the text is visible UTF-8, on one line.
[[nodiscard]] inline bool is_printable(std::string_view text) noexcept {
  const auto plain = [](char c) { return c >= ' ' && c < 0x7f; };
  if (std::all_of(text.begin(), text.end(), plain)) return true;
  while (!text.empty()) {
    const Character next = first_character(text);
    if (!is_visible(next)) return false;
    text.remove_prefix(next.length);
  }
  return true;
}

/// @return the text with each byte that is not part of visible UTF-8 as `\xNN`: one line, which
/// controls no terminal. Printable text stays as it is, and needs no memory. A backslash stays, so
/// that text may pass twice without a change.
[[nodiscard]] inline std::string printable(std::string text) {
  if (is_printable(text)) return text;
  std::string shown;
  for (std::string_view rest = text; !rest.empty();) {
    const Character next = first_character(rest);
    const std::string_view raw = rest.substr(0, next.length);
    if (is_visible(next)) {
      shown += raw;
    } else {
      append_escaped(shown, raw);
    }
    rest.remove_prefix(next.length);
  }
  return shown;
}

/// @return the bytes as `printable()` shows them, with each backslash doubled: two different names
/// never read alike.
[[nodiscard]] inline std::string escaped(std::string_view bytes) {
  std::string doubled;
  for (const char byte : bytes) {
    if (byte == '\\') doubled += '\\';
    doubled += byte;
  }
  return printable(std::move(doubled));
}

/// The same in place. If there is no memory for it, the text is empty afterwards.
inline void make_printable(std::string& text) noexcept {
  try {
    text = printable(std::move(text));
  } catch (const std::bad_alloc&) {
    text.clear();
  }
}

/// @return at most that many bytes from the front of the text. It ends between two characters of
/// UTF-8, so that no half of one is shown as bytes.
[[nodiscard]] inline std::string_view beginning_of(std::string_view text,
                                                   std::size_t most) noexcept {
  if (text.size() <= most) return text;
  const auto goes_on = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80;
  };
  constexpr std::size_t longest_character = 4;
  std::size_t end = most;
  while (end > 0 && most - end < longest_character && goes_on(end)) --end;
  // Bytes that are not UTF-8 have no better place.
  return text.substr(0, goes_on(end) ? most : end);
}

}  // namespace mortise::base
