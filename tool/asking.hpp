// SPDX-License-Identifier: MIT
// Questions of the commands for administrators to a store: names and queues. A call is repeated
// until the store has answered.
#pragma once

#include <mortise/client.hpp>
#include <mortise/clock.hpp>
#include <mortise/listing.hpp>

#include "order.hpp"

#include <chrono>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::tool {

/// One name that is held, and its kind: `exclusive` stands for a lock, `permit` for a semaphore,
/// `once` for a key.
struct HeldName {
  Mode kind = Mode::exclusive;
  std::string name;
  auto operator<=>(const HeldName&) const = default;
};

/// @return "lock", "semaphore" or "key".
[[nodiscard]] std::string_view kind_word(Mode kind) noexcept;

/// All pages of a list.
struct HeldNames {
  std::vector<HeldName> names;  ///< in order of their kinds, then of their bytes; each once
  std::size_t too_long = 0;     ///< the number of held names that are too long for the store's list
};

/// @return the held names of all kinds that the order asks for, or else that the store has.
[[nodiscard]] HeldNames held_names(const Client& client, const Order& order);

/// @return the holders and the waiters of this name.
[[nodiscard]] NameQueue queue_of(const Client& client, const Order& order, const HeldName& name);

/// @return the same for the name of the order: of each kind that the order asks for, or else of
/// each kind that the store has. All kinds are in one queue.
[[nodiscard]] NameQueue queue_of_kinds(const Client& client, const Order& order);

/// Repeats a call until the store has answered: a call of the library waits a second at most.
/// @throws Error as the last call, once `answer` is over
template <class Call>
[[nodiscard]] auto answered(std::chrono::nanoseconds answer, Call call) {
  const Instant until = BootClock::now() + answer;
  for (;;) {
    try {
      return call();
    } catch (const Error& error) {
      if (error.code() != Errc::unavailable || BootClock::now() >= until) throw;
    }
  }
}

}  // namespace mortise::tool
