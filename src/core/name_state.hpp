// SPDX-License-Identifier: MIT
// One name in one client: its holder here, its waiters here, and the waiter that asks the server.
// Decisions only: no mutex, no thread, no server. The caller carries them out, and
// calls `serve()` after each change.
#pragma once

#include "core/hold.hpp"
#include "core/leaving_releases.hpp"
#include "core/lost_holds.hpp"
#include "core/owned_hold.hpp"
#include "core/sharers.hpp"
#include "core/waiter.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace mortise::core {

/// At most one waiter of the client asks the server at a time (the *requester*); the others queue
/// here in order of arrival, readers and others alike. At most one hold is live, which readers
/// share; but for that of an owner that was exclusive first, and takes the name shared as well.
/// Holds that were lost are remembered per owner.
class NameState {
 public:
  enum class Entry : std::uint8_t {
    reentered,
    joined,  ///< it has a part in the shared hold
    ask,     ///< it is the requester now
    wait,    ///< it was queued
    busy,
    lost,
    upgrade,  ///< a reader that would wait for itself
    differs,  ///< its owner has, or waits for, a permit of a semaphore with another number of them
  };
  /// A caller arrives.
  /// @param now when, and how long a turn lasts: asked of a reader only
  Entry enter(Waiter& waiter, bool may_wait, Instant now = {}, const TurnLimits& turn = {});

  /// Makes room for a hold, and for its loss, which needs no memory then.
  /// @return the room for readers, where it is theirs
  std::unique_ptr<Sharers> expect_grant(Mode mode = Mode::exclusive);
  /// The requester was granted the name.
  void granted(Waiter& requester, Hold&& hold, std::unique_ptr<Sharers> room = nullptr);
  /// The state of the name has changed: finds a waiter that can go on because of that. Call it
  /// until it returns null.
  /// - Its owner got the name by another call: the waiter re-enters, or asks to read beside the
  /// hold.
  /// - A reader joins the shared hold.
  /// - The name is idle: the waiter that came first asks the server.
  /// @return the waiter, to be woken
  Waiter* serve(Instant now, const TurnLimits& turn) noexcept;
  /// What one has learned serves others who wait: they leave the queue, called, and have it.
  /// @param served hands it to a waiter that it serves; returns whether it does
  template <class Served>
  void tell(Served served) {
    queue_.remove_if([&](Waiter& waiter) {
      if (!served(waiter)) return false;
      waiter.wakeup = Waiter::Wakeup::told;
      return true;
    });
  }
  /// A waiter, requester or not, stops waiting.
  void leave(Waiter& waiter) noexcept;

  enum class Exit : std::uint8_t {
    not_owner,  ///< nothing changed
    nested,     ///< an inner unlock
    was_lost,   ///< an unlock of a lost hold
    passed,     ///< the next waiter holds the name now
    parted,     ///< the shared hold stands for others
    release,    ///< the hold ended: tell the server, then call `release_sent()`
  };
  struct Departure {
    Exit exit = Exit::not_owner;
    Waiter* next = nullptr;  ///< passed: the new holder. release: who is to come, not called yet
    /// release: the hold to free; passed and parted: the former owner's part
    std::optional<Hold> ended{};
  };
  /// An unlock.
  /// @param mode `shared` = of a reader; all others are alike
  Departure unlock(Owner owner, Instant now, const TurnLimits& turn, Mode mode = Mode::exclusive);
  /// The release left for the server: the next attempt comes after it.
  void release_sent() noexcept { releasing_.end(); }
  /// The same, for the thread that sent the release. @thread_safety without the mutex
  /// @return false: a caller may wait for that, and `release_sent()` has to be called
  [[nodiscard]] bool release_left_unseen() noexcept { return releasing_.end_unseen(); }

  struct Loss {
    Hold ended{};
    Parts sharers{};  ///< of a shared hold: all parts
  };
  /// A live hold ended without an unlock.
  /// @param sent_first whether the server is told before anybody asks it again: then
  /// `release_sent()` must follow
  /// @return empty if that generation is not live any more
  std::optional<Loss> lose(std::uint64_t generation, bool sent_first) noexcept;

  /// The first part of the shared hold whose time is up ended without an unlock; others go on.
  Loss lose_part(Instant now) noexcept;

  /// The readers' hold.
  [[nodiscard]] Sharers* sharers() const noexcept { return sharers_.get(); }
  /// @return the live hold of that mode: of the readers together, or of one owner alone.
  [[nodiscard]] Hold* live(Mode mode = Mode::exclusive) noexcept {
    if (mode != Mode::shared) return hold_ ? &*hold_ : nullptr;
    return sharers_ ? &sharers_->hold() : nullptr;
  }
  /// @return the same, where the owner has it, or a part in it.
  [[nodiscard]] Hold* held_by(Owner owner, Mode mode) noexcept;
  /// The holds that their owners lost, and still have to unlock.
  [[nodiscard]] LostHolds& lost() noexcept { return lost_; }
  /// The hold of that owner, or its part in it, has one `Guard` more or one less.
  /// @param by 1 or -1
  void change_guards(Owner owner, int by, Mode mode = Mode::exclusive) noexcept;
  [[nodiscard]] const WaitQueue& queue() const noexcept { return queue_; }
  [[nodiscard]] Waiter* requester() const noexcept { return requester_; }
  /// @return of a semaphore: how many permits those ask for who hold or wait; 0 = nobody does.
  [[nodiscard]] std::uint32_t permits() const noexcept;
  /// @return whether whoever comes now has to wait for others of this process.
  [[nodiscard]] bool busy() const noexcept {
    return hold_ || sharers_ || requester_ != nullptr || releasing_.is_any() || !queue_.empty();
  }

 private:
  [[nodiscard]] Entry enter_shared(const Waiter& waiter, Instant now, const TurnLimits& turn);
  Departure pass(Instant now);
  Departure end_hold(Instant now);
  Departure unlock_shared(Owner owner);
  Loss lose_shared(bool sent_first) noexcept;
  [[nodiscard]] Waiter* successor() const noexcept;
  void make_room(std::size_t owners);
  Waiter* join(Instant now, const TurnLimits& turn) noexcept;
  Waiter* ask() noexcept;
  void begin_requesting(Waiter& waiter) noexcept;

  OwnedHold hold_;
  std::unique_ptr<Sharers> sharers_;  // null: no reader
  Waiter* requester_ = nullptr;
  mutable LeavingReleases releasing_;  // to look changes it
  WaitQueue queue_;
  LostHolds lost_;
};

}  // namespace mortise::core
