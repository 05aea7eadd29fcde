// SPDX-License-Identifier: MIT
// One name of one client: its waiters, the one of them that asks the server, its holder, and the
// next holder, as core/name_state decides. hold_keeper.hpp keeps a hold alive; hold_query.hpp
// answers questions about it.
#pragma once

#include <mortise/operation.hpp>

#include "core/name_state.hpp"
#include "runtime/call/key_talk.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/hold/hold_keeper.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
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
  /// @param waiter null = does nothing
  static void wake_locked(core::Waiter* waiter) noexcept;
  /// The state has changed: wakes the waiters that can go on because of that.
  void serve_locked() noexcept;
  /// A waiter stops waiting.
  void leaves_locked(core::Waiter& waiter) noexcept {
    state.leave(waiter);
    serve_locked();
  }
  /// A release has left: the next attempt of this client comes after it.
  void release_sent_locked() noexcept {
    state.release_sent();
    serve_locked();
  }
  /// Hands the record of the key to each waiter that came before the request for the record, if the
  /// record answers the waiter's request.
  void tell_locked(KeyNews news) noexcept;
  /// Has every caller that wants the name look at the clock and at the client again.
  void poke_waiters();

  /// @param memory of a key; null for a lock
  /// @param beside see `Acquisition::Request::beside`
  /// @return an attempt with an id of its own, not sent yet.
  [[nodiscard]] std::shared_ptr<Attempt> new_attempt_locked(
      const core::Terms& terms, bool wait, const std::shared_ptr<const Memory>& memory = nullptr,
      const std::optional<AttemptId>& beside = std::nullopt);
  /// @return the hold as the server knows it.
  [[nodiscard]] HoldId hold_id(const core::Hold& hold) const;
  /// @return the request that keeps the name reserved: the hold is younger than its `min_hold`.
  [[nodiscard]] std::shared_ptr<KeptHold> kept(const core::Hold& hold, Instant now) const;

  /// @return the keeper of the holds of that mode.
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
  /// The server took a hold away that is not live here. Its grant may yet come to a caller, because
  /// the reports of a grant and of its end come in any order.
  void taken_away_locked(const HoldId& hold) noexcept {
    if (hold.attempt.sequence == newest_.attempt) {
      newest_.taken = std::max(newest_.taken, hold.number);
    }
  }
  /// @return whether the server took that hold away before its caller had the grant.
  [[nodiscard]] bool was_taken_away_locked(const core::Hold& hold) const noexcept {
    return hold.attempt.sequence == newest_.attempt && hold.number <= newest_.taken;
  }
  /// The requester holds the name. @throws std::bad_alloc; it then does not hold the name
  void granted_locked(AcquireCall& call, core::Hold&& hold);

  // Its neighbours in the list of the client's slots; under the mutex of their table.
  Slot* before = nullptr;
  Slot* after = nullptr;

 private:
  const std::shared_ptr<ClientState> client_;
  const std::string name_;
  const Owner owner_;
  HoldKeeper keeper_;
  /// The newest attempt. A caller that has an attempt has this one.
  struct Newest {
    std::uint64_t attempt = 0;  // `AttemptId::sequence`
    std::uint64_t taken = 0;    // number of its last grant that the server took away
  };
  Newest newest_;
  // Made with the first shared hold, and its slot's; a pointer only, since each held lock has it.
  std::atomic<HoldKeeper*> sharing_{nullptr};
};

}  // namespace mortise::runtime
