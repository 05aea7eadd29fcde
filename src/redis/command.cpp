// SPDX-License-Identifier: MIT
#include "redis/command.hpp"

#include <array>
#include <charconv>
#include <cstddef>

namespace mortise::redis {
namespace {

/// `sign`, the number, and the end of a line.
void append_header(std::string& out, char sign, std::size_t number) {
  std::array<char, 24> text{};
  char* end = text.data();
  *end++ = sign;
  end = std::to_chars(end, text.data() + text.size() - 2, number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

}  // namespace

void append_command(std::string& out, std::span<const std::string_view> words) {
  constexpr std::size_t header = 8;  // of most words, with the end of their line
  std::size_t size = header;
  for (const std::string_view word : words) size += word.size() + header;
  out.reserve(out.size() + size);
  append_header(out, '*', words.size());
  for (const std::string_view word : words) {
    append_header(out, '$', word.size());
    out.append(word).append("\r\n");
  }
}

}  // namespace mortise::redis
