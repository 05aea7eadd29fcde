// SPDX-License-Identifier: MIT
#include "fuzz/mutation.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mortise::fuzz {
namespace {

constexpr std::size_t longest = 4096;

// Ends of numbers, and what separates words in the formats of the targets.
constexpr std::array<std::string_view, 20> pieces{
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    " ",
    "2147483647",
    "9007199254740991",
    "9007199254740992",
    "86400000000",
    "\n",
    "\r\n",
    "%2F",
    "%00",
    "@",
    "/",
    "?",
    "&",
    "lock-",
    "\x7f\xff\xff\xff",
};

std::size_t place_in(const std::string& text, model::Dice& dice) {
  return dice.below(static_cast<std::uint32_t>(text.size()) + 1);
}

/// @return a piece of at most 32 bytes.
std::string piece_of(const std::string& text, model::Dice& dice) {
  return text.substr(place_in(text, dice), dice.below(32) + 1);
}

void change(std::string& text, const std::vector<std::string>& corpus, model::Dice& dice) {
  const std::size_t at = place_in(text, dice);
  switch (dice.below(8)) {
    case 0: text.insert(at, 1, static_cast<char>(dice.below(256))); return;
    case 1: text.erase(at, dice.below(8) + 1); return;
    case 2: text.insert(at, pieces.at(dice.below(pieces.size()))); return;
    case 3: text.insert(at, piece_of(text, dice)); return;
    case 4:
      text.insert(at,
                  piece_of(corpus[dice.below(static_cast<std::uint32_t>(corpus.size()))], dice));
      return;
    case 5: text.resize(at); return;
    case 6:
      if (at < text.size()) text[at] = static_cast<char>(dice.below(256));
      return;
    default:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << dice.below(8)));
      return;
  }
}

}  // namespace

std::string mutated(const std::vector<std::string>& corpus, model::Dice& dice) {
  std::string text = corpus[dice.below(static_cast<std::uint32_t>(corpus.size()))];
  const std::uint32_t changes = dice.below(8) + 1;
  for (std::uint32_t i = 0; i < changes; ++i) change(text, corpus, dice);
  text.resize(std::min(text.size(), longest));
  return text;
}

}  // namespace mortise::fuzz
