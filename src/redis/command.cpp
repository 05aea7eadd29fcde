// SPDX-License-Identifier: MIT
#include "redis/command.hpp"

#include <algorithm>
#include <charconv>

namespace mortise::redis {
namespace {

constexpr std::size_t longest_header = 23;  // a sign, the digits of 64 bits, the end of the line

char* write_end(char* out) noexcept {
  *out++ = '\r';
  *out++ = '\n';
  return out;
}

/// `sign`, the number, and the end of a line.
char* write_header(char* out, char sign, std::size_t number) noexcept {
  *out++ = sign;
  if (number < 10) {
    *out++ = static_cast<char>('0' + number);
  } else {
    out = std::to_chars(out, out + longest_header, number).ptr;
  }
  return write_end(out);
}

}  // namespace

Digits::Digits(std::uint64_t value) noexcept {
  char* const end = std::to_chars(text_.data(), text_.data() + text_.size(), value).ptr;
  size_ = static_cast<std::size_t>(end - text_.data());
}

// Written through a pointer, since a command has a dozen words, each of a few pieces, and each call
// of `append()` for one of them looks whether there is room.
void append_command(std::string& out, std::span<const std::string_view> words) {
  std::size_t most = longest_header;
  for (const std::string_view word : words) most += longest_header + word.size() + 2;
  const std::size_t before = out.size();
  out.resize(before + most);
  char* end = write_header(out.data() + before, '*', words.size());
  for (const std::string_view word : words) {
    end = write_header(end, '$', word.size());
    end = write_end(std::copy(word.begin(), word.end(), end));
  }
  out.resize(static_cast<std::size_t>(end - out.data()));
}

}  // namespace mortise::redis
