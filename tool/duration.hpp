// SPDX-License-Identifier: MIT
// Durations as a person writes them: 250ms, 10s, 5m, 2h, 1d; a number alone means seconds.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::tool {

/// @return the duration; nothing if the text is not a duration or is longer than a hundred years.
[[nodiscard]] std::optional<std::chrono::milliseconds> duration_of(std::string_view text);

/// @return "850ms", "12s", "3m07s", "5h02m", "4d03h".
[[nodiscard]] std::string short_text(std::chrono::milliseconds time);

}  // namespace mortise::tool
