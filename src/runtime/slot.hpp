// SPDX-License-Identifier: MIT
// One name of one client: who waits, who asks the server, who holds it, and who gets it next, as
// core/name_state decides. What keeps a hold alive is in hold_keeper.hpp; what an owner can ask
// about its hold is in hold_query.hpp.
#pragma once

#include <mortise/operation.hpp>

#include "core/name_state.hpp"
#include "runtime/client_state.hpp"
#include "runtime/hold_keeper.hpp"
#include "runtime/key_talk.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace mortise::runtime {

class AcquireCall;
class Attempt;
class KeptHold;

/// @thread_safety every member may be called concurrently, those that end in `_locked` under the
/// mutex.
class Slot : public std::enable_shared_from_this<Slot> {
 public:
  using Lock = std::unique_lock<std::mutex>;

  /// @param mode whose: a lock's (`exclusive`), a key's, or a semaphore's
  /// @param owner whose permit it is for; empty for all but those
  Slot(std::shared_ptr<ClientState> client, std::string name, Mode mode, Owner owner = {});
  ~Slot();
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] ClientState& client() const noexcept { return *client_; }
  [[nodiscard]] Owner owner() const noexcept { return owner_; }
  [[nodiscard]] Mode mode_of(const core::Terms& terms) const noexcept {
    return key ? Mode::once : terms.mode;
  }

  // Guards the state and what a function `..._locked` touches. It is never held while the backend,
  // the notifier or a sleeper is called, and comes before the background's mutex.
  std::mutex mutex;
  core::NameState state;
  const std::unique_ptr<KeyTalk> key;  // null: the name is a lock's, or a semaphore's

  // The calls that the state names: every waiter in it is one.
  /// @return the one that asks the server, or null.
  [[nodiscard]] AcquireCall* requester_locked() const noexcept {
    return call_of(state.requester());
  }
  /// @return the one that has waited longest for its turn, or null.
  [[nodiscard]] AcquireCall* first_locked() const noexcept {
    return call_of(state.queue().front());
  }
  [[nodiscard]] static AcquireCall* call_of(core::Waiter* waiter) noexcept;
  /// Nothing for nobody.
  static void wake_locked(core::Waiter* waiter) noexcept;
  /// Wakes those who waited for a name that is their owner's by now.
  void wake_reentered_locked() noexcept;
  /// Wakes the readers that may join a shared hold now, where there is one.
  void wake_joined_locked() noexcept;
  /// A waiter stops waiting; whoever can go on by that is woken.
  void leaves_locked(core::Waiter& waiter) noexcept;
  /// Hands what is remembered of the key to each waiter that came before that was asked for and
  /// whose answer it is, too.
  void tell_locked(KeyNews news) noexcept;
  /// Has everybody who wants the name look again, at the clock and at the client.
  void poke_waiters();

  /// @param memory of a key; null for a lock
  /// @param beside see `Acquisition::Request::beside`
  /// @return an attempt with an id of its own, not sent yet.
  [[nodiscard]] std::shared_ptr<Attempt> new_attempt(
      const core::Terms& terms, bool wait, const std::shared_ptr<const Memory>& memory = nullptr,
      const std::optional<AttemptId>& beside = std::nullopt) const;
  /// @return the hold as the server knows it.
  [[nodiscard]] HoldId hold_id(const core::Hold& hold) const;
  /// @return what says that it is kept for nobody: it is younger than its `min_hold`.
  [[nodiscard]] std::shared_ptr<KeptHold> kept(const core::Hold& hold, Instant now) const;

  /// @return whoever keeps the holds of that mode.
  [[nodiscard]] HoldKeeper& keeper(Mode mode = Mode::exclusive) noexcept {
    HoldKeeper* const sharing = mode == Mode::shared ? sharing_.load() : nullptr;
    return sharing != nullptr ? *sharing : keeper_;  // without it there is no shared hold
  }
  template <class Visit>
  void each_keeper(Visit visit) {
    visit(keeper_);
    if (HoldKeeper* const sharing = sharing_.load()) visit(*sharing);
  }
  /// Loses a hold whose time is up. @return whether there may be another one: it needs an aftermath
  /// of its own
  [[nodiscard]] bool expire_locked(Instant now, Aftermath& aftermath);
  /// The requester holds the name. Throws where there is no memory: then it does not.
  void granted_locked(AcquireCall& call, core::Hold&& hold);

  // Its neighbours in the list of the client's slots; under the mutex of their table.
  Slot* before = nullptr;
  Slot* after = nullptr;

 private:
  const std::shared_ptr<ClientState> client_;
  const std::string name_;
  const Owner owner_;
  HoldKeeper keeper_;
  // Made with the first shared hold, and its slot's; a pointer only, since each held lock has it.
  std::atomic<HoldKeeper*> sharing_{nullptr};
};

}  // namespace mortise::runtime
