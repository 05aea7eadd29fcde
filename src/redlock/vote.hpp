// SPDX-License-Identifier: MIT
// What one server answers to a request for its vote, as a number. All else that it may answer is an
// answer of src/redis, or one letter.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mortise::redlock {

/// @return the number of "G <number>", a vote or a number that was noted; nothing = not one
[[nodiscard]] std::optional<std::uint64_t> vote_number(std::string_view text);

}  // namespace mortise::redlock
