// SPDX-License-Identifier: MIT
#include "text.hpp"

#include <cstddef>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

int digit_of(char digit) {
  const std::size_t value = digits.find(digit);
  return value == std::string_view::npos ? -1 : static_cast<int>(value);
}

}  // namespace

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

}  // namespace mortise::tool
