// SPDX-License-Identifier: MIT
// What the parts of a slot share: the decisions about its name, and the one mutex over them.
#pragma once

#include "core/name_state.hpp"
#include "runtime/attempt.hpp"
#include "runtime/key_talk.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace mortise::runtime {

class AcquireCall;
class ClientState;
class KeptHold;

/// The mutex guards the state and whatever a function `..._locked` of the slot's parts touches; it
/// is never held while the backend, the notifier or a sleeper is called, and comes before the
/// background's mutex.
struct SharedName {
  using Lock = std::unique_lock<std::mutex>;

  const std::shared_ptr<ClientState> client;
  const std::string name;
  const std::unique_ptr<KeyTalk> key;  // null: the name is a lock's, or a semaphore's
  std::mutex mutex{};
  core::NameState state{};

  // The calls that the state names: every waiter in it is one.
  /// @return the one that asks the server, or null.
  [[nodiscard]] AcquireCall* requester_locked() const noexcept;
  /// @return the one that has waited longest for its turn, or null.
  [[nodiscard]] AcquireCall* first_locked() const noexcept;
  [[nodiscard]] static AcquireCall* call_of(core::Waiter* waiter) noexcept;
  /// Nothing for nobody.
  static void wake_locked(core::Waiter* waiter) noexcept;
  /// Wakes those who waited for a name that is their owner's by now.
  void wake_reentered_locked() noexcept;
  /// Wakes the readers that may join a shared hold now, where there is one.
  void wake_joined_locked() noexcept;
  /// A waiter stops waiting; whoever can go on by that is woken.
  void leaves_locked(core::Waiter& waiter) noexcept;

  [[nodiscard]] Mode mode_of(const core::Terms& terms) const noexcept {
    return key ? Mode::once : terms.mode;
  }
  /// Hands what is remembered of the key to each waiter that came before that was asked for and
  /// whose answer it is, too.
  void tell_locked(KeyNews news) noexcept;

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
};

}  // namespace mortise::runtime
