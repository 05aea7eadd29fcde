// SPDX-License-Identifier: MIT
// What one client knows about one name: who holds it here, who waits here, who of them asks the
// server. Decisions only: no mutex, no thread, no server. The caller carries out what they say.
#pragma once

#include "core/hold.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mortise::core {

/// A caller that wants the name. Lives in the caller's stack frame while it waits.
struct Waiter {
  enum class Wakeup : std::uint8_t {
    none,  ///< wait on
    ask,   ///< it is your turn to ask the server
    held,  ///< the name was passed to you: you hold it
    told,  ///< somebody else's answer is yours, too: you have it
  };
  Owner owner;
  std::shared_ptr<const Terms> terms;
  Wakeup wakeup = Wakeup::none;
};

/// How long one client may pass a name among its own threads.
struct TurnLimits {
  Nanos time = std::chrono::milliseconds(5);
  std::uint32_t passes = longest_turn;
};

/// At most one waiter of the client asks the server at a time (the *requester*); the others queue
/// here in order of arrival. At most one hold is live; holds that were lost are remembered per
/// owner.
class NameState {
 public:
  enum class Entry : std::uint8_t { reentered, ask, wait, busy, lost };
  /// A caller arrives. `wait`: it was queued; `ask`: it is the requester now.
  Entry enter(Waiter& waiter, bool may_wait);

  /// Makes room for a hold, and for its loss, which needs no memory then.
  void expect_grant();
  /// The requester was granted the name.
  void granted(Waiter& requester, Hold&& hold);
  /// A waiter that has become the owner while it waited (two threads use one `Owner`) re-enters.
  /// @return it, to be woken; nearly always none. To be called until there is none.
  Waiter* reenter_waiter() noexcept;
  /// What one has learned serves others who wait: they leave the queue, called, and have it.
  /// @param served hands it to a waiter that it serves; returns whether it does
  template <class Served>
  void tell(Served served) {
    std::erase_if(queue_, [&](Waiter* waiter) {
      if (!served(*waiter)) return false;
      waiter->wakeup = Waiter::Wakeup::told;
      return true;
    });
  }
  /// A waiter, requester or not, stops waiting. @return whoever is to ask the server next, if
  /// anybody.
  Waiter* leave(Waiter& waiter);

  enum class Exit : std::uint8_t {
    not_owner,  ///< nothing changed
    nested,     ///< an inner unlock
    was_lost,   ///< an unlock of a lost hold
    passed,     ///< the next waiter holds the name now
    release,    ///< the hold ended: tell the server, then call `release_sent()`
  };
  struct Departure {
    Exit exit = Exit::not_owner;
    Waiter* next = nullptr;  ///< passed: the new holder. release: who is to come, not called yet
    std::optional<Hold> ended{};  ///< release: the hold to free; passed: the former owner's part
  };
  /// An unlock.
  Departure unlock(Owner owner, Instant now, const TurnLimits& turn);
  /// The release left for the server: the next attempt comes after it.
  /// @return whoever is to ask the server now, if anybody.
  Waiter* release_sent();

  struct Loss {
    Hold ended{};
    Waiter* next = nullptr;  ///< whoever is to ask the server now, if anybody
  };
  /// The live hold ended without an unlock.
  /// @param sent_first whether the server is told before anybody asks it again: then
  /// `release_sent()` must follow
  /// @return empty if that generation is not live any more
  std::optional<Loss> lose(std::uint64_t generation, bool sent_first) noexcept;

  [[nodiscard]] Hold* live() noexcept { return hold_ ? &*hold_ : nullptr; }
  [[nodiscard]] const Hold* live() const noexcept { return hold_ ? &*hold_ : nullptr; }
  [[nodiscard]] LostHold* lost_hold(Owner owner) noexcept;
  /// One `Guard` more, or one less, has the hold of that owner.
  void guard_comes(Owner owner) noexcept;
  void guard_leaves(Owner owner) noexcept;
  /// Forgets those holds that were lost, and that nobody can unlock.
  template <class Ownerless>
  void forget_losses(Ownerless ownerless) noexcept {
    std::erase_if(lost_, ownerless);
  }
  [[nodiscard]] bool remembers_losses() const noexcept { return !lost_.empty(); }
  [[nodiscard]] const std::vector<Waiter*>& queue() const noexcept { return queue_; }
  [[nodiscard]] Waiter* requester() const noexcept { return requester_; }
  /// @return whether whoever comes now has to wait for others of this process.
  [[nodiscard]] bool busy() const noexcept {
    return hold_ || requester_ != nullptr || releasing_ || !queue_.empty();
  }

 private:
  [[nodiscard]] bool may_pass(Instant now, const TurnLimits& turn) const;
  Departure pass(Instant now);
  Departure end_hold();
  Waiter* choose_requester();

  std::optional<Hold> hold_;
  Waiter* requester_ = nullptr;
  bool releasing_ = false;
  std::vector<Waiter*> queue_;  // not a deque: that takes 576 bytes even where nobody waits
  std::vector<LostHold> lost_;
};

}  // namespace mortise::core
