// SPDX-License-Identifier: MIT
// Text that stands in the source code. The compiler refuses any other, so a message that is made of
// literals alone cannot quote what a user has written.
#pragma once

#include <cstddef>
#include <string_view>

namespace mortise::base {

class Literal {
 public:
  template <std::size_t Size>
  consteval Literal(const char (&text)[Size]) noexcept  // NOLINT(google-explicit-constructor)
      : text_(text, Size - 1) {}
  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }

 private:
  std::string_view text_;
};

}  // namespace mortise::base
