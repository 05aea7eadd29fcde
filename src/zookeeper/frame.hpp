// SPDX-License-Identifier: MIT
// The shape of what a ZooKeeper server sends. The C client reads an answer without looking whether
// it could: of one that is too short it hands out memory that nobody has written. So an answer is
// looked at before the C client gets it. Pure; it knows the protocol (zookeeper.jute), and no more.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace mortise::zookeeper {

/// @return the number that the first four bytes are; there are so many.
[[nodiscard]] std::uint32_t big_endian(const char* bytes) noexcept;

/// The type of a request that is several writes in one.
inline constexpr std::int32_t multi_type = 14;

/// @param type of the request, as the protocol numbers them; any but `multi_type`
/// @param body what follows the header of a reply that tells of no error
/// @return whether all is there that the C client reads of it; more may follow
[[nodiscard]] bool sound_reply(std::int32_t type, std::string_view body) noexcept;

/// @param body what follows the header of a request of `multi_type`
/// @return the types of its writes, in their order
[[nodiscard]] std::vector<std::int32_t> writes_of(std::string_view body);

/// @param writes of the request: the C client reads an answer to each, by its type
/// @return `sound_reply()` for a request of `multi_type`.
[[nodiscard]] bool sound_answers(const std::vector<std::int32_t>& writes,
                                 std::string_view body) noexcept;

/// @return the same for what tells of a watch.
[[nodiscard]] bool sound_event(std::string_view body) noexcept;

}  // namespace mortise::zookeeper
