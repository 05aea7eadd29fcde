// SPDX-License-Identifier: MIT
// What one server answers to a request for its vote, as a number. All else that it may answer is an
// answer of src/redis, or one letter.
#pragma once

#include "redis/answer.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mortise::redlock {

/// @return the number of "G <number>", a vote or a number that was noted; nothing = not one
[[nodiscard]] std::optional<std::uint64_t> vote_number(std::string_view text);

/// What a server tells of who has its vote, in an answer of src/redis: where it is read, the
/// numbers of several of those who read are in front of it: "V <number>,<number> B ...".
struct Told {
  redis::Answer answer{};
  std::vector<std::uint64_t> numbers{};  ///< of who reads, and of the owner beside them; or none

  [[nodiscard]] static std::optional<Told> parse(std::string_view text);
  /// @return whether the hold with this number has that server's vote.
  [[nodiscard]] bool names(std::uint64_t number) const noexcept;
};

}  // namespace mortise::redlock
