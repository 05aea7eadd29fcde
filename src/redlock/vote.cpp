// SPDX-License-Identifier: MIT
// A vote is believed only where all of it is a number: a proxy may answer in a server's place.
#include "redlock/vote.hpp"

#include "core/figures.hpp"

#include <charconv>

namespace mortise::redlock {

std::optional<std::uint64_t> vote_number(std::string_view text) {
  if (!text.starts_with("G ")) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || number == 0 || number >= core::grant_number_limit) return std::nullopt;
  return number;
}

}  // namespace mortise::redlock
