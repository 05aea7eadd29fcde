// SPDX-License-Identifier: MIT
// What keeps the live hold of a name alive, and what ends it: renewal, jeopardy, loss. The other
// half of a slot is who waits for the name and who gets it next: its calls say when a hold begins
// and have this look at the time, and are asked only whose answer from the server is awaited.
#pragma once

#include <mortise/operation.hpp>

#include "core/hold.hpp"
#include "runtime/engine/background.hpp"
#include "runtime/hold/aftermath.hpp"
#include "runtime/hold/renewal_trouble.hpp"

#include <cstdint>
#include <memory>

namespace mortise::runtime {

class ClientState;
class RenewalBatch;

/// A part of a slot, and gone with it.
/// @thread_safety it has no mutex of its own: what ends in `_locked` is called under the slot's,
/// everything else may be called concurrently without it.
class HoldKeeper {
 public:
  /// @param mode whose hold it keeps: the readers' of the name, or that of everybody else
  HoldKeeper(Slot& slot, Mode mode) noexcept;
  HoldKeeper(const HoldKeeper&) = delete;
  HoldKeeper& operator=(const HoldKeeper&) = delete;

  /// A hold is about to begin. Throws where it cannot be kept: then it must not begin.
  void begin_locked(const core::Lease& lease);
  /// Forgets what threads have lost that can unlock it no more.
  void forget_the_dead_locked() noexcept;
  /// Loses the hold where its time is up.
  void expire_locked(Instant now, Aftermath& after);
  /// Of readers: one more has come. @param batch receives a renewal where one is to tell whether
  /// others wait
  void newcomer_locked(Instant now, std::shared_ptr<RenewalBatch>& batch);
  /// Of readers: somebody has begun to wait for the name here, or for another reason than before.
  void look_after_waiters_locked(Instant now);
  /// A held name stays in the client's table when no handle is left; this one need not.
  void unpin_if_idle_locked(Aftermath& after) noexcept;
  /// The background forgets it. Its slot does this last of all.
  void disarm_locked() noexcept;

  /// @return a reference that keeps the slot; null = it is being destroyed
  [[nodiscard]] std::shared_ptr<HoldKeeper> kept() noexcept;
  /// The background's side: something may be due.
  void tick(Instant now, std::shared_ptr<RenewalBatch>& batch);
  [[nodiscard]] HoldTimer& timer() noexcept { return timer_; }
  /// @param failure why it was not answered; empty if it was, or nobody knows
  void renewal_answered(std::uint64_t generation, const Renewal::Item& item, Failure failure);
  /// The server took the hold with this attempt away.
  void taken_away(const HoldId& hold, const Failure& why);
  /// Somebody asks for the hold with this attempt.
  void wanted(const HoldId& hold);
  /// @return why the last renewal of the live hold failed; null: it did not.
  [[nodiscard]] const RenewalTrouble* trouble_locked() const noexcept { return trouble_.get(); }
  /// Ends the live hold. @return the request to wait for, if there was one.
  std::shared_ptr<Operation> close();

 private:
  [[nodiscard]] ClientState& client() const noexcept;
  [[nodiscard]] core::Hold* live_locked() const noexcept;
  void renew_locked(core::Hold& live, std::shared_ptr<RenewalBatch>& batch);
  void arm_locked(const core::Lease& lease, Instant now);
  /// @return when the hold, a part of it, or whoever waits for it is to be looked after next.
  [[nodiscard]] Instant next_locked(const core::Lease& lease, Instant now) const noexcept;
  /// @return whether to ask for news of those whom the first reader that waits here waits for.
  [[nodiscard]] bool wants_news_locked(Instant now) noexcept;
  void set_locked(Instant due, core::Nanos early);
  /// Nothing is held: what was lost is looked after.
  void rest_locked(Instant now, Aftermath& after);
  [[nodiscard]] bool ownerless_locked(const core::Hold& live) const noexcept;
  /// What nobody can unlock any more is not renewed for them.
  void disown_locked(core::Hold& live, Instant now) noexcept;
  /// Of readers: loses a part that nobody can unlock, where its time is up.
  void expire_part_locked(Instant now, Aftermath& after);
  void lose_locked(const Aftermath::Reason& why, bool tell_server, Aftermath& after);

  Slot& slot_;
  const Mode mode_;
  std::unique_ptr<RenewalTrouble> trouble_;  // of the live hold, if its last renewal has failed
  HoldTimer timer_;
  Instant armed_ = never;      // so late at most it ticks
  std::shared_ptr<Slot> pin_;  // keeps a held name in the table when no handle is left
};

}  // namespace mortise::runtime
