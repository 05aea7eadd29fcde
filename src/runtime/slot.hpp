// SPDX-License-Identifier: MIT
// One name of one client: the decisions of core/name_state under a mutex, carried out.
#pragma once

#include <mortise/operation.hpp>
#include <mortise/options.hpp>

#include "core/name_state.hpp"
#include "runtime/acquire_call.hpp"
#include "runtime/background.hpp"
#include "runtime/client_state.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace mortise::runtime {

/// Renewals of many slots in one request.
class RenewalBatch final : public Renewal {
 public:
  RenewalBatch() : Renewal({}) {}
  void add(const std::shared_ptr<Slot>& slot, std::uint64_t generation, Item item);

 private:
  void finished() noexcept override;
  // Weak: the backend keeps a request as long as it likes, and the slot keeps the backend.
  std::vector<std::pair<std::weak_ptr<Slot>, std::uint64_t>> slots_;
};

/// @thread_safety every member may be called concurrently. The mutex is never held while the
/// backend, the notifier or a sleeper is called; it comes before the background's mutex.
class Slot : public std::enable_shared_from_this<Slot> {
 public:
  Slot(std::shared_ptr<ClientState> client, std::string name);
  ~Slot();
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] ClientState& client() const noexcept { return *client_; }

  /// @param holder receives who held the name when the call failed by contention; may be null
  /// @return the failure, `timeout` and `cancelled` included; none = `options.owner` holds the name
  Failure acquire(const std::shared_ptr<const core::Terms>& terms, const AcquireOptions& options,
                  std::optional<Holder>* holder);
  /// @param failure receives `not_owner`
  Released release(Owner owner, Failure& failure);

  [[nodiscard]] std::size_t hold_count(Owner owner);
  [[nodiscard]] Token token(Owner owner);
  [[nodiscard]] core::Nanos valid_for(Owner owner);
  [[nodiscard]] std::stop_token lost(Owner owner);
  [[nodiscard]] std::optional<Holder> holder(Failure& failure);
  /// @return the hold of another owner of this process, as others would see it.
  [[nodiscard]] std::optional<Holder> local_holder();

  // The background's side.
  void tick(Instant now, std::shared_ptr<RenewalBatch>& batch);
  void renewal_answered(std::uint64_t generation, const Renewal::Item& item,
                        const Failure& failure);
  /// The server took the hold with this attempt away.
  void taken_away(const HoldId& hold, const Failure& why);
  /// Somebody asks for the hold with this attempt.
  void wanted(const HoldId& hold);

  // Closing.
  void poke_waiters();
  /// Ends the live hold. @return the release to wait for, if there was one.
  std::shared_ptr<Release> close_hold();

  /// Among the client's slots; under its mutex.
  ListedSlot listed;

 private:
  friend class AcquireCall;

  /// Why a hold was lost, in words that are made when the loss is told: a loss needs no memory.
  struct Reason {
    Errc code = Errc::lost;
    const char* words = "";            ///< behind the name
    const Failure* backend = nullptr;  ///< instead, in the backend's words; outlives the aftermath
  };
  /// What is to be done once the mutex is free. Made before the mutex is taken, so that it is
  /// carried out after it was given back, also where an exception ends the call in between: a loss
  /// that nobody tells, or a release that nobody sends, would block the name for ever.
  struct Aftermath {
    explicit Aftermath(Slot& slot) noexcept : slot_(slot) {}
    Aftermath(const Aftermath&) = delete;
    Aftermath& operator=(const Aftermath&) = delete;
    ~Aftermath() { slot_.carry_out(*this); }
    std::shared_ptr<Slot> unpinned;
    std::optional<core::NameState::Loss> loss;
    std::unique_ptr<Notifier::Task> notice;  // to be told at a loss; else of a hold that is over
    Reason why;
    bool tell_server = false;

   private:
    Slot& slot_;
  };
  using Lock = std::unique_lock<std::mutex>;

  static void wake_locked(core::Waiter* waiter);
  void hold_granted_locked(AcquireCall& call, core::Hold&& hold);
  /// @return whether the server took it away before its caller had it.
  [[nodiscard]] bool taken_away_locked(const core::Hold& hold) const noexcept {
    return hold.attempt == taken_attempt_ && hold.number <= taken_number_;
  }
  void expire_locked(Instant now, Aftermath& after);
  void lose_locked(const Reason& why, bool tell_server, Aftermath& after);
  void arm_locked(const core::Lease& lease);
  void disarm_locked() noexcept;
  void wake_reentered_locked();
  void unpin_if_idle_locked(std::shared_ptr<Slot>& unpinned);

  void carry_out(Aftermath& after) noexcept;
  void tell_lost(const core::NameState::Loss& loss, const Reason& why);
  void release_lost(const core::Hold& ended);
  /// @param successor the terms of whoever is to come next; may be null
  Released free_at_server(const core::Hold& ended,
                          const std::shared_ptr<const core::Terms>& successor);
  Released await(const std::shared_ptr<Release>& release, const core::Hold& ended);
  void tell_released(const core::Hold& ended, Released outcome);
  void tell_failed(const core::Hold& ended, Failure why);
  [[nodiscard]] std::shared_ptr<Attempt> new_attempt(const core::Terms& terms, bool wait);
  [[nodiscard]] HoldId hold_id(const core::Hold& hold) const;

  const std::shared_ptr<ClientState> client_;
  const std::string name_;
  std::mutex mutex_;
  core::NameState state_;
  /// The last hold of the requester's attempt that the server took away before the caller had it:
  /// what is told of a grant, and of its end, may come in any order.
  AttemptId taken_attempt_{};
  std::uint64_t taken_number_ = 0;
  /// Tells the loss of the live hold, where somebody has asked for it.
  std::unique_ptr<Notifier::Task> notice_;
  SlotTimer timer_;
  Instant armed_ = never;      // so late at most it ticks
  std::shared_ptr<Slot> pin_;  // keeps a held name in the table when no handle is left
};

}  // namespace mortise::runtime
