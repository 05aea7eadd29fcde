// SPDX-License-Identifier: MIT
// A vote is believed only where all of it is a number: a proxy may answer in a server's place.
#include "redlock/vote.hpp"

#include "core/figures.hpp"

#include <algorithm>
#include <charconv>

namespace mortise::redlock {
namespace {

// A server tells eight who read, and the owner beside them.
constexpr std::size_t most_numbers = 9;

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || number == 0 || number >= core::grant_number_limit) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::uint64_t> vote_number(std::string_view text) {
  if (!text.starts_with("G ")) return std::nullopt;
  const std::optional<std::uint64_t> number = number_in(text.substr(2));
  return number;
}

std::optional<Told> Told::parse(std::string_view text) {
  Told told;
  if (text.starts_with("V ")) {
    text.remove_prefix(2);
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    std::string_view numbers = text.substr(0, space);
    text.remove_prefix(space + 1);
    for (;;) {
      const std::size_t size = std::min(numbers.find(','), numbers.size());
      const auto number = number_in(numbers.substr(0, size));
      if (!number || told.numbers.size() >= most_numbers) return std::nullopt;
      told.numbers.push_back(*number);
      if (size == numbers.size()) break;
      numbers.remove_prefix(size + 1);
    }
  }
  std::optional<redis::Answer> answer = redis::Answer::parse(text);
  if (!answer) return std::nullopt;
  told.answer = std::move(*answer);
  return told;
}

bool Told::names(std::uint64_t number) const noexcept {
  return number == answer.holder_number ||
         std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

}  // namespace mortise::redlock
