// SPDX-License-Identifier: MIT
// The table of `mortise watch`: one line per hold.
#pragma once

#include "survey.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace mortise::tool {

/// @return the table in full width, for a file or a pipe: with tokens, and nothing cut.
[[nodiscard]] std::string plain_table(const std::vector<ChangedRow>& rows);

/// The part of a terminal that is drawn, in characters.
struct Screen {
  std::size_t columns = 0;
  std::size_t lines = 0;
};

/// @return the most rows that the screen has lines for.
[[nodiscard]] std::size_t rows_of(const Screen& screen) noexcept;

/// @param every the pause between two looks, for the first line
/// @param names how many names are held, for the last line if not all of their holds are shown
/// @param all whether `rows` has every hold
/// @return a table that fits the screen, and replaces the one drawn before. Names and holders are
/// cut to fit; the first column marks what has changed.
[[nodiscard]] std::string drawn_table(const std::vector<ChangedRow>& rows, const Screen& screen,
                                      std::chrono::milliseconds every, std::size_t names, bool all);

}  // namespace mortise::tool
