// SPDX-License-Identifier: MIT
// A command as the bytes that go to the server. hiredis would format as well, at five times the
// price, and this is part of every request.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mortise::redis {

/// A number as a word of a command, without an allocation.
class Digits {
 public:
  explicit Digits(std::uint64_t value) noexcept
      : size_(static_cast<std::size_t>(
            std::to_chars(text_.data(), text_.data() + text_.size(), value).ptr - text_.data())) {}
  operator std::string_view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 20> text_{};
  std::size_t size_;
};

/// The lengths that the protocol puts in front of words, and the ends of its lines.
class Header {
 public:
  static constexpr std::size_t longest = 23;  // a sign, the digits of 64 bits, the end of the line

  /// `sign`, the number, and the end of a line.
  static char* write(char* out, char sign, std::size_t number) noexcept {
    *out++ = sign;
    if (number < 10) {
      *out++ = static_cast<char>('0' + number);
    } else {
      out = std::to_chars(out, out + longest, number).ptr;
    }
    return write_end(out);
  }
  static char* write_end(char* out) noexcept {
    *out++ = '\r';
    *out++ = '\n';
    return out;
  }
};

/// Appends a command and its arguments, any bytes, in the server's protocol. Written through a
/// pointer, since a command has a dozen words, each of a few pieces, and each call of `append()`
/// for one of them looks whether there is room.
inline void append_command(std::string& out, std::span<const std::string_view> words) {
  std::size_t most = Header::longest;
  for (const std::string_view word : words) most += Header::longest + word.size() + 2;
  const std::size_t before = out.size();
  out.resize(before + most);
  char* end = Header::write(out.data() + before, '*', words.size());
  for (const std::string_view word : words) {
    end = Header::write(end, '$', word.size());
    end = Header::write_end(std::copy(word.begin(), word.end(), end));
  }
  out.resize(static_cast<std::size_t>(end - out.data()));
}

}  // namespace mortise::redis
