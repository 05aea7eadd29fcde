// SPDX-License-Identifier: MIT
// A hold with the lifetime of a scope, and with everything that a remote lock has and std's guards
// cannot carry: a time limit, cancellation, the token, the loss, the reason of failure.
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

/// Takes the lock when it is made and frees it when it is destroyed, by whichever thread; the end
/// of the thread that made it does not end the hold.
///
/// Give it a name: a compiler warns of `Guard(lock, options);`, which frees the lock at once.
///
/// An empty guard holds nothing and tells why in `error()`. Contention makes it empty; every other
/// failure is thrown, unless the `std::error_code` form is used.
/// @thread_safety one thread at a time; `valid_for()`, `token()` and `lost()` may be called
/// concurrently with each other.
class MORTISE_API Guard {
 public:
  /// An empty guard.
  Guard() noexcept;
  /// Takes the lock.
  ///
  /// @param lock the lock; need not outlive the guard, and may be a temporary
  /// @param options wait, stop, owner; the guard unlocks for the owner that took it
  /// @errors as `Lock::lock()`, thrown as `Error`; contention is not thrown
  [[nodiscard]] explicit Guard(Lock& lock, const AcquireOptions& options = {});
  [[nodiscard]] explicit Guard(Lock&& lock, const AcquireOptions& options = {})
      : Guard(lock, options) {}
  /// The same without exceptions: `ec` equals `error()`.
  [[nodiscard]] Guard(Lock& lock, const AcquireOptions& options, std::error_code& ec);
  [[nodiscard]] Guard(Lock&& lock, const AcquireOptions& options, std::error_code& ec)
      : Guard(lock, options, ec) {}
  /// Takes the lock within a time: `Guard(lock, 2s)` is `Guard(lock, {.wait = 2s})`.
  template <Wait Time>
  [[nodiscard]] explicit Guard(Lock& lock, const Time& wait)
      : Guard(lock, {.wait = wait_of(wait)}) {}
  template <Wait Time>
  [[nodiscard]] explicit Guard(Lock&& lock, const Time& wait)
      : Guard(lock, {.wait = wait_of(wait)}) {}
  /// Takes the lock if it is free now, as `std::unique_lock(lock, std::try_to_lock)` does.
  // A template, so that `{}` stays `AcquireOptions`.
  template <std::same_as<std::try_to_lock_t> Try>
  [[nodiscard]] explicit Guard(Lock& lock, Try)
      : Guard(lock, {.wait = std::chrono::nanoseconds(0)}) {}
  template <std::same_as<std::try_to_lock_t> Try>
  [[nodiscard]] explicit Guard(Lock&& lock, Try)
      : Guard(lock, {.wait = std::chrono::nanoseconds(0)}) {}

  /// Takes the lock of a name: `Guard(client, "orders/42", {.wait = 2s})`.
  ///
  /// @param client makes the lock; must be open
  /// @param name as of `Client::make_lock()`
  /// @param options wait, stop, owner; the guard unlocks for the owner that took it
  /// @param lock as of `Client::make_lock()`: lease, label, mode
  /// @errors as `Client::make_lock()` and `Lock::lock()`, thrown as `Error`; contention is not
  /// thrown
  [[nodiscard]] explicit Guard(Client& client, std::string_view name,
                               const AcquireOptions& options = {}, const LockOptions& lock = {});
  /// The same without exceptions: `ec` equals `error()`.
  [[nodiscard]] Guard(Client& client, std::string_view name, const AcquireOptions& options,
                      std::error_code& ec)
      : Guard(client, name, options, {}, ec) {}
  [[nodiscard]] Guard(Client& client, std::string_view name, const AcquireOptions& options,
                      const LockOptions& lock, std::error_code& ec);
  /// Takes the lock of a name within a time, or if it is free now (`std::try_to_lock`).
  template <Wait Time>
  [[nodiscard]] explicit Guard(Client& client, std::string_view name, const Time& wait)
      : Guard(client, name, {.wait = wait_of(wait)}) {}
  template <std::same_as<std::try_to_lock_t> Try>
  [[nodiscard]] explicit Guard(Client& client, std::string_view name, Try)
      : Guard(client, name, {.wait = std::chrono::nanoseconds(0)}) {}

  /// Does not compile: a `ReadWriteLock` is two locks.
  template <std::same_as<ReadWriteLock> TwoLocks>
  explicit Guard(TwoLocks&, const AcquireOptions& = {}) {
    static_assert(!std::same_as<TwoLocks, ReadWriteLock>,
                  "Mortise: a ReadWriteLock is two locks. Say which: Guard(lock.reader()) or "
                  "Guard(lock.writer())");
  }

  Guard(Guard&& other) noexcept;
  /// Frees what it held before it takes over.
  Guard& operator=(Guard&& other) noexcept;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  /// Frees the hold; never throws, bounded by a command time-out.
  ~Guard();

  /// @return whether the guard took the lock and has not released it. It says nothing about loss.
  [[nodiscard]] explicit operator bool() const noexcept { return slot_ != nullptr; }
  /// Frees the hold now; the guard is empty afterwards.
  ///
  /// @return what was found; `was_lost` for an empty guard. Never throws.
  Released unlock() noexcept;

  /// @return the lock's name; empty for an empty guard.
  [[nodiscard]] std::string name() const;
  /// @return the fencing token of the hold; empty for an empty guard. Stays after a loss.
  [[nodiscard]] Token token() const noexcept { return token_; }
  /// @return as `Lock::valid_for()`; zero for an empty guard.
  [[nodiscard]] std::chrono::nanoseconds valid_for() const noexcept;
  /// @return as `Lock::lost()`.
  [[nodiscard]] const std::stop_token& lost() const noexcept { return lost_; }
  /// @return which store the hold is in; empty for an empty guard.
  [[nodiscard]] StoreId store() const;
  /// @return who takes part as the owner of the hold.
  [[nodiscard]] Owner owner() const noexcept { return owner_; }

  /// @return why the guard is empty; clear for one that holds or was released.
  [[nodiscard]] const std::error_code& error() const noexcept { return failure_.code; }
  /// @return the words to `error()`: what failed, where, and why.
  [[nodiscard]] std::string error_text() const { return failure_.words(); }
  /// @return who held the lock when the guard gave up, as far as the backend told; empty otherwise.
  [[nodiscard]] const std::optional<Holder>& holder() const noexcept { return holder_; }

 private:
  void take(Lock& lock, const AcquireOptions& options);

  std::shared_ptr<runtime::Slot> slot_;
  Mode mode_ = Mode::exclusive;
  Owner owner_;
  Token token_;
  std::stop_token lost_;
  Failure failure_;
  std::optional<Holder> holder_;
};

}  // namespace mortise
