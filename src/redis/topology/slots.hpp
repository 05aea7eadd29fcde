// SPDX-License-Identifier: MIT
// What a cluster says of its slots: which one a name lies in, who has which, and where a call is
// sent instead. Pure; nothing that a server says is trusted to make sense.
#pragma once

#include "base/address.hpp"
#include "redis/store/reply.hpp"
#include "redis/topology/membership.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mortise::redis {

inline constexpr std::size_t slot_count = 16384;
/// Of the answer to CLUSTER SLOTS: each slot by itself, with a master and three replicas that have
/// names, still fits.
inline constexpr ReplyLimits slots_limits{.bytes = std::size_t{16} << 20U,
                                          .items = std::size_t{1} << 19U};

/// @return the slot of all keys of that name, which have it for a hash tag: see lock_key.hpp.
[[nodiscard]] std::uint16_t slot_of(std::string_view name) noexcept;

/// @return the slot of a hash tag.
[[nodiscard]] std::uint16_t slot_of_tag(std::string_view tag) noexcept;

/// The slots from `first` to `last` have that master.
struct SlotRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  base::Address master{};
};
/// What a server says of its cluster.
struct SlotTable {
  std::vector<SlotRange> ranges{};  ///< no slot is in two of them
  NodeIds nodes{};                  ///< all that it names, replicas too
  NodeIds masters{};                ///< those of them that are masters
  bool whole = true;                ///< false: it also said something that is of no use
};
/// Reads the answer to CLUSTER SLOTS, and leaves out each range that is of no use: a master may be
/// without an address until its container has come back under its own name.
/// @param asked where the answer comes from: a server that does not know its own name leaves it out
/// @return nothing = it makes no sense at all
[[nodiscard]] std::optional<SlotTable> parse_slots(const Reply& reply, const base::Address& asked);

/// @return whether an error reply says that a name lies elsewhere, even if it does not say where.
[[nodiscard]] bool is_redirection(std::string_view words) noexcept;

/// "Not here": an error reply MOVED or ASK.
struct Redirection {
  bool for_once = false;  ///< ASK: this call alone, behind an ASKING
  std::uint16_t slot = 0;
  base::Address to{};
};
/// @param words the error reply, without its '-'
/// @return nothing = it is another error
[[nodiscard]] std::optional<Redirection> parse_redirection(std::string_view words,
                                                           const base::Address& asked);

}  // namespace mortise::redis
