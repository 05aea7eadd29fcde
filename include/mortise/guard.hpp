// SPDX-License-Identifier: MIT
// A hold that lasts until the end of a scope. A remote lock needs more than the standard's guards
// have. `Guard` adds a time limit, cancellation, the token, the loss, and the reason of a failure.
#pragma once

#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/lock.hpp>
#include <mortise/options.hpp>
#include <mortise/store_id.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise {

class ReadWriteLock;
namespace runtime {
class PendingAcquire;
}

/// Takes the lock in its constructor and unlocks in its destructor. Any thread may destroy the
/// guard. The hold does not end when the thread that made the guard ends.
///
/// Declare the guard as a variable with a name. A guard without a name, `Guard(lock, options);`,
/// unlocks at once. A compiler warns about such a guard.
///
/// An empty guard holds nothing. The `error()` of an empty guard returns the reason. If another
/// owner holds the lock until the wait ends, the guard is empty. The constructors throw an
/// exception for every other failure. The constructors with a `std::error_code` report such a
/// failure in the code instead.
/// @thread_safety One thread at a time. `valid_for()`, `token()` and `lost()` may be called
/// concurrently with each other.
class MORTISE_API Guard {
 public:
  /// Makes an empty guard.
  Guard() noexcept;
  /// Takes the lock.
  ///
  /// @param lock the lock; may be a temporary, and need not outlive the guard
  /// @param options the time limit, the stop token and the owner; the guard unlocks for the same
  /// owner
  /// @errors as `Lock::lock()`, thrown as `Error`; contention is not thrown
  [[nodiscard]] explicit Guard(Lock& lock, const AcquireOptions& options = {});
  [[nodiscard]] explicit Guard(Lock&& lock, const AcquireOptions& options = {})
      : Guard(lock, options) {}
  /// As above without exceptions. `ec` equals `error()`.
  [[nodiscard]] Guard(Lock& lock, const AcquireOptions& options, std::error_code& ec);
  [[nodiscard]] Guard(Lock&& lock, const AcquireOptions& options, std::error_code& ec)
      : Guard(lock, options, ec) {}
  /// Takes the lock within a time limit: `Guard(lock, 2s)` means `Guard(lock, {.wait = 2s})`.
  template <Wait Time>
  [[nodiscard]] explicit Guard(Lock& lock, const Time& wait)
      : Guard(lock, {.wait = wait_of(wait)}) {}
  template <Wait Time>
  [[nodiscard]] explicit Guard(Lock&& lock, const Time& wait)
      : Guard(lock, {.wait = wait_of(wait)}) {}
  /// Takes the lock if the lock is free now, as `std::unique_lock(lock, std::try_to_lock)` does.
  // This constructor is a template, so that `{}` still means `AcquireOptions`.
  template <std::same_as<std::try_to_lock_t> Try>
  [[nodiscard]] explicit Guard(Lock& lock, Try)
      : Guard(lock, {.wait = std::chrono::nanoseconds(0)}) {}
  template <std::same_as<std::try_to_lock_t> Try>
  [[nodiscard]] explicit Guard(Lock&& lock, Try)
      : Guard(lock, {.wait = std::chrono::nanoseconds(0)}) {}

  /// Takes the lock of a name: `Guard(client, "orders/42", {.wait = 2s})`.
  ///
  /// @param client the client that makes the lock; must be open
  /// @param name as for `Client::make_lock()`
  /// @param options the time limit, the stop token and the owner; the guard unlocks for the same
  /// owner
  /// @param lock as for `Client::make_lock()`: lease, label, mode
  /// @errors as `Client::make_lock()` and `Lock::lock()`, thrown as `Error`; contention is not
  /// thrown
  [[nodiscard]] explicit Guard(Client& client, std::string_view name,
                               const AcquireOptions& options = {}, const LockOptions& lock = {});
  /// As above without exceptions. `ec` equals `error()`.
  [[nodiscard]] Guard(Client& client, std::string_view name, const AcquireOptions& options,
                      std::error_code& ec)
      : Guard(client, name, options, {}, ec) {}
  [[nodiscard]] Guard(Client& client, std::string_view name, const AcquireOptions& options,
                      const LockOptions& lock, std::error_code& ec);
  /// Takes the lock of a name within the time limit `wait`. With `std::try_to_lock`, takes the lock
  /// only if it is free now.
  template <Wait Time>
  [[nodiscard]] explicit Guard(Client& client, std::string_view name, const Time& wait)
      : Guard(client, name, {.wait = wait_of(wait)}) {}
  template <std::same_as<std::try_to_lock_t> Try>
  [[nodiscard]] explicit Guard(Client& client, std::string_view name, Try)
      : Guard(client, name, {.wait = std::chrono::nanoseconds(0)}) {}

  /// Does not compile, because a `ReadWriteLock` has two locks.
  template <std::same_as<ReadWriteLock> TwoLocks>
  explicit Guard(TwoLocks&, const AcquireOptions& = {}) {
    static_assert(!std::same_as<TwoLocks, ReadWriteLock>,
                  "Mortise: a ReadWriteLock is two locks. Say which: Guard(lock.reader()) or "
                  "Guard(lock.writer())");
  }

  Guard(Guard&& other) noexcept;
  /// Unlocks the hold of this guard first. Then takes over the hold of `other`.
  Guard& operator=(Guard&& other) noexcept;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  /// Unlocks. Never throws, and blocks for at most one command timeout. The destructor of a guard
  /// from `Lock::acquire_async()` sends the request and does not wait. The client repeats a request
  /// without an answer.
  ~Guard();

  /// @return true if the guard took the lock and has not unlocked it. After a loss, the result is
  /// still true.
  [[nodiscard]] explicit operator bool() const noexcept { return slot_ != nullptr; }
  /// Unlocks now. The guard is empty afterwards.
  ///
  /// @return the same value as `Lock::release()`; `was_lost` for an empty guard. Never throws
  Released unlock() noexcept;
  /// Unlocks without a thread that waits: see `Pending`. The guard is empty when this member
  /// returns. If the call never begins, the hold is unlocked as by the destructor of an
  /// asynchronous guard. Once begun, nothing stops the call.
  ///
  /// @return the call; its result is the same value as that of `unlock()`. If the client is closed,
  /// the start of the call fails with `closed`: the hold is over then
  /// @errors `not_owner` (the guard is empty), thrown as `Error`; `std::bad_alloc`. After an
  /// exception, the guard is unchanged
  [[nodiscard]] Pending<Released> unlock_async();

  /// @return the name of the lock; empty for an empty guard.
  [[nodiscard]] std::string name() const;
  /// @return the fencing token of the hold, even after a loss; empty for an empty guard.
  [[nodiscard]] Token token() const noexcept { return token_; }
  /// @return as `Lock::valid_for()`; zero for an empty guard.
  [[nodiscard]] std::chrono::nanoseconds valid_for() const noexcept;
  /// @return as `Lock::lost()`.
  [[nodiscard]] const std::stop_token& lost() const noexcept { return lost_; }
  /// Waits for the loss of the hold without a thread: see `Pending`. Start the call next to the
  /// work, and stop the work when the call ends with true.
  ///
  /// @return the call. Its result is true if the hold was lost or the client was closed, even
  /// before the call began. It is false if the owner unlocks before that, or if `stopped_by()` ends
  /// the call
  /// @errors `not_owner` (the guard is empty), thrown as `Error`
  [[nodiscard]] Pending<bool> lost_async() const;
  /// @return the store that has the hold; empty for an empty guard, and in a forked child.
  [[nodiscard]] StoreId store() const;
  /// @return the owner of the hold.
  [[nodiscard]] Owner owner() const noexcept { return owner_; }

  /// @return why the guard is empty; clear if the guard holds the lock or has unlocked it.
  [[nodiscard]] const std::error_code& error() const noexcept { return failure_.code; }
  /// @return the message for `error()`: the lock or the store, and the reason.
  [[nodiscard]] std::string error_text() const { return failure_.words(); }
  /// @return the other holder when the wait ended; empty if the backend reported no holder.
  [[nodiscard]] const std::optional<Holder>& holder() const noexcept { return holder_; }

 private:
  friend class runtime::PendingAcquire;
  /// The end of an asynchronous call.
  Guard(std::shared_ptr<runtime::Slot> slot, Owner owner, Mode mode, const Failure& failure,
        std::optional<Holder> holder) noexcept;

  void take(Lock& lock, const AcquireOptions& options);
  void receive(std::shared_ptr<runtime::Slot> slot);
  Released leave(bool waits) noexcept;

  std::shared_ptr<runtime::Slot> slot_;
  Mode mode_ = Mode::exclusive;
  bool waits_ = true;  // for the answer of the store, in the destructor
  Owner owner_;
  Token token_;
  std::stop_token lost_;
  Failure failure_;
  std::optional<Holder> holder_;
};

template <Wait Time>
Pending<Guard> Lock::acquire_async(const Time& wait) {
  return acquire_async(AcquireOptions{.wait = wait_of(wait)});
}

}  // namespace mortise
