// SPDX-License-Identifier: MIT
// The shape of what a ZooKeeper server sends. The C client reads an answer without looking whether
// it could: of one that is too short it hands out memory that nobody has written. So an answer is
// looked at before the C client gets it. Pure; it knows the protocol (zookeeper.jute), and no more.
#pragma once

#include <cstdint>
#include <string_view>

namespace mortise::zookeeper {

/// @return the number that the first four bytes are; there are so many.
[[nodiscard]] std::uint32_t big_endian(const char* bytes) noexcept;

/// @param type of the request, as the protocol numbers them
/// @param body what follows the header of a reply that tells of no error
/// @return whether all is there that the C client reads of it; more may follow
[[nodiscard]] bool sound_reply(std::int32_t type, std::string_view body) noexcept;

/// @return the same for what tells of a watch.
[[nodiscard]] bool sound_event(std::string_view body) noexcept;

}  // namespace mortise::zookeeper
