// SPDX-License-Identifier: MIT
// A command as the bytes that go to the server.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mortise::redis {

/// Appends a command and its arguments, any bytes, in the server's protocol.
void append_command(std::string& out, std::span<const std::string_view> words);

/// A number as a word of a command, without an allocation.
class Digits {
 public:
  explicit Digits(std::uint64_t value) noexcept;
  operator std::string_view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 20> text_{};
  std::size_t size_;
};

}  // namespace mortise::redis
