// SPDX-License-Identifier: MIT
// One of the callers of a client that wait for a name.
#pragma once

#include <mortise/owner.hpp>

#include "core/owner_list.hpp"
#include "core/terms.hpp"

#include <cstdint>
#include <memory>

namespace mortise::core {

/// A caller that wants the name. Lives in the caller's stack frame while it waits.
struct Waiter {
  enum class Wakeup : std::uint8_t {
    none,  ///< wait on
    ask,   ///< it is your turn to ask the server
    held,  ///< the name was passed to you: you hold it
    told,  ///< the answer to another waiter is yours as well
  };
  Owner owner;
  std::shared_ptr<const Terms> terms;
  Wakeup wakeup = Wakeup::none;
  OwnerPlace<Waiter> place{};
  /// As a requester next to its own exclusive hold: the grant of that hold, and its hand-overs. A
  /// store may give the reader the same number, and that hold may end before the answer comes.
  std::uint64_t own_number = 0;
  std::uint16_t own_passes = 0;

  /// @return whether it wants to read.
  [[nodiscard]] bool shares() const noexcept { return terms->mode == Mode::shared; }
};

/// Two threads can wait with the same `Owner`.
using WaitQueue = OwnerList<Waiter>;

}  // namespace mortise::core
