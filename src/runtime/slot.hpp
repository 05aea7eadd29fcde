// SPDX-License-Identifier: MIT
// One name of one client, for those who want it: who waits, who asks the server, who holds it, and
// who gets it next, as core/name_state decides. What keeps a hold alive is in hold_keeper.hpp.
#pragma once

#include <mortise/operation.hpp>
#include <mortise/options.hpp>

#include "runtime/client_state.hpp"
#include "runtime/hold_keeper.hpp"
#include "runtime/shared_name.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace mortise::runtime {

class AcquireCall;
class Grace;

/// @thread_safety every member may be called concurrently, those that end in `_locked` under the
/// mutex of `shared()`.
class Slot : public std::enable_shared_from_this<Slot> {
 public:
  /// @param mode whose: a lock's (`exclusive`), a key's, or a semaphore's
  /// @param owner whose permit it is for; empty for all but those
  Slot(std::shared_ptr<ClientState> client, std::string name, Mode mode, Owner owner = {});
  ~Slot();
  [[nodiscard]] const std::string& name() const noexcept { return shared_.name; }
  [[nodiscard]] ClientState& client() const noexcept { return *shared_.client; }
  [[nodiscard]] Owner owner() const noexcept { return owner_; }

  /// @param holder receives who held the name when the call failed by contention; may be null
  /// @param key what is asked of a key, and where its answer goes; null for a lock
  /// @param grace of the call that this one is a part of; null = it is a call by itself
  /// @return the failure, `timeout` and `cancelled` included; none = `options.owner` holds the
  /// name, or there is a record of the key
  Failure acquire(const std::shared_ptr<const core::Terms>& terms, const AcquireOptions& options,
                  std::optional<Holder>* holder, KeyCall* key = nullptr, Grace* grace = nullptr);
  /// @param failure receives `not_owner`
  Released release(Owner owner, Mode mode, Failure& failure);
  struct Guarded {
    Token token;
    std::stop_token lost;
  };
  /// What that owner has just taken is a guard's, which may outlive the owner's thread. To be
  /// called once; where it throws, too, `release_guard()` must follow.
  [[nodiscard]] Guarded guard(Owner owner, Mode mode);
  Released release_guard(Owner owner, Mode mode, Failure& failure);
  /// The same of a guard of several names, which asks for neither token nor loss.
  void guarded(Owner owner, Mode mode) noexcept;
  /// Ends a run. @param ending null: it gives the key back
  /// @param failure receives why nobody knows, where the answer is `unknown`; and `not_owner`
  Released conclude(Owner owner, KeyEnding* ending, Failure& failure);
  /// @return what a caller that has just come may know without asking for the key.
  [[nodiscard]] KeyGlance glance(const Memory& asked);
  /// Asks the server what it remembers of the key, or has it forget that.
  /// @param stop ends the wait early: `cancelled`
  [[nodiscard]] std::shared_ptr<const Record> recall(Recollection::Kind kind, core::Nanos at_most,
                                                     Failure& failure,
                                                     const std::stop_token& stop = {}) const;

  // Of a reader's part, or of the hold that is nobody else's.
  [[nodiscard]] std::size_t hold_count(Owner owner, Mode mode);
  [[nodiscard]] Token token(Owner owner, Mode mode);
  [[nodiscard]] core::Nanos valid_for(Owner owner, Mode mode = Mode::exclusive);
  [[nodiscard]] std::stop_token lost(Owner owner, Mode mode = Mode::exclusive);
  [[nodiscard]] std::optional<Holder> holder(Failure& failure) const;
  /// @return the hold of another owner of this process, as others would see it.
  [[nodiscard]] std::optional<Holder> local_holder();

  /// Has everybody who wants the name look again, at the clock and at the client.
  void poke_waiters();

  // For the calls, which carry out what the state decides.
  [[nodiscard]] SharedName& shared() noexcept { return shared_; }
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
  HoldKeeper& keeper_to_be_locked(Mode mode);
  [[nodiscard]] Token token_locked(Owner owner, Mode mode) noexcept;
  [[nodiscard]] std::stop_token lost_locked(Owner owner, Mode mode);

  /// @return in whose table it is.
  [[nodiscard]] Mode mode() const noexcept {
    if (owner_ != Owner()) return Mode::permit;
    return shared_.key ? Mode::once : Mode::exclusive;
  }

  const Owner owner_;
  SharedName shared_;
  HoldKeeper keeper_;
  // Made with the first shared hold, and its slot's; a pointer only, since each held lock has it.
  std::atomic<HoldKeeper*> sharing_{nullptr};
};

}  // namespace mortise::runtime
