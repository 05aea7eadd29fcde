// SPDX-License-Identifier: MIT
// The lock of one name. `Lock` meets the standard's requirements Lockable and TimedLockable. So
// std::unique_lock, std::scoped_lock and std::lock_guard accept a `Lock` like a
// std::recursive_timed_mutex.
#pragma once

#include <mortise/duration.hpp>
#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/options.hpp>
#include <mortise/owner.hpp>
#include <mortise/pending.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>

namespace mortise {

namespace core {
struct Terms;
}
namespace runtime {
class Slot;
}
class Client;
class Guard;
class Guards;

/// A handle on the lock of one name. `Client::make_lock()` returns the handle.
///
/// Two handles of the same name and the same client control the same lock. A *hold* is one owner's
/// possession of the lock. A hold has a count, and the options of the handle that took the hold. A
/// re-entry only adds 1 to the count. Each event changes the hold as follows:
///
/// | state \ event   | lock / try_lock      | unlock         | renewal acknowledged | deadline passes, server reports a loss, or max_hold |
/// |-----------------|----------------------|----------------|----------------------|--------------------------|
/// | free            | -> waiting -> held   | `not_owner`    | -                    | -                        |
/// | waiting         | (the caller blocks)  | `not_owner`    | -                    | -                        |
/// | held            | held, count + 1      | count - 1; at 0 -> free | held, later deadline | -> lost         |
/// | jeopardy (renewal overdue) | as held   | as held        | -> held              | -> lost                  |
/// | lost            | fails with `lost`    | count - 1, no error; at 0 -> free | stays lost | stays lost      |
/// | closed or forked client | fails with `closed` | no error | -                   | -                        |
///
/// A handle with `Mode::shared` is a reader's handle. Several readers can hold the name at the same
/// time. Readers exclude only exclusive owners (*writers*). If a writer waits, readers that arrive
/// later wait as well. The writer waits only for the readers before it. So neither readers nor
/// writers starve, inside a process and between clients.
///
/// Shared and exclusive holds are separate. Each member function acts on the hold of its handle's
/// mode. Three rules complete the table:
/// - The first reader of a client takes the shared hold with one round trip. Other readers of that
///   client join the hold without a round trip.
/// - An exclusive owner can take the name as a reader as well, and then unlock the exclusive hold.
///   The owner then continues as a reader (a downgrade). No other owner gets the name in between.
/// - A reader that asks for the exclusive hold gets `unsupported`. Two readers that both asked
///   would wait for each other indefinitely. Unlock the shared hold first.
///
/// `ReadWriteLock` has both handles.
///
/// As soon as a hold is lost, other owners can acquire the name, although this owner still has to
/// unlock.
///
/// If a thread ends while it holds the lock, no other thread can unlock the hold. So the library
/// stops the renewal of this hold. The hold ends when its lease ends. The library then reports the
/// hold as lost. If the backend has no leases, the library frees the hold within
/// `LockOptions::lease` + 1 s. These rules apply to every hold whose owner is a thread, including a
/// hold in a `std::unique_lock` that was moved to another thread. The rules do not apply to the
/// hold of a `Guard` or of an owner from `Owner::unique()`, because another thread can still unlock
/// such a hold.
///
/// A hold with a lease can be lost while its holder works. Check `valid_for()` or `lost()` before a
/// step that you cannot undo. The process may pause between the check and the step. So pass
/// `token()` to the store that you change. The store can then refuse smaller tokens.
///
/// @thread_safety Every member may be called concurrently, even on one object. Moving and
/// destroying need exclusive access, as for any object. Do not call a member of a moved-from
/// handle.
class MORTISE_WARN_UNUSED MORTISE_API Lock {
 public:
  Lock(Lock&&) noexcept;
  Lock& operator=(Lock&&) noexcept;
  /// Does not unlock. A hold outlives its handle. Another handle of the same name and client can
  /// unlock the hold.
  ~Lock();

  /// Waits until the calling thread holds the lock.
  ///
  /// If the thread already holds the lock, the call re-enters at once, without a round trip.
  /// @errors `unavailable` (no connection for `ClientOptions::give_up`), `denied`, `lost` (this
  /// thread has lost an earlier hold and not unlocked it yet), `in_doubt`, `misconfigured`,
  /// `unsupported` (this thread holds the name as a reader), `protocol`, `exhausted`, `closed`
  /// @blocking Without limit. Callers of one process get the lock in order of arrival.
  void lock();
  /// As above, but reports through `ec` instead of throwing `Error`. `ec` is clear on success.
  void lock(std::error_code& ec);

  /// Takes the lock if the lock is free now. Needs one round trip. A re-entry needs no round trip.
  ///
  /// @return true if the calling thread holds the lock; false, without an error, if another owner
  /// holds the lock
  /// @errors as `lock()`; `unavailable` if there is no connection within a command timeout;
  /// `in_doubt` if the request was sent and no answer arrives in time
  /// @blocking At most one command timeout (min(1 s, lease/6)) plus 50 ms.
  [[nodiscard]] bool try_lock();
  /// As above without exceptions. `ec` is clear if another owner holds the lock.
  [[nodiscard]] bool try_lock(std::error_code& ec);

  /// Waits for the lock, at most for a given time plus 50 ms. The limit applies during every fault
  /// of the store and the network.
  ///
  /// @param wait the longest wait; zero or less means one try
  /// @return true if the calling thread holds the lock
  /// @errors as `lock()`
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
    return acquire({.wait = wait_of(wait)});
  }
  /// As above without exceptions. `ec` is clear if another owner holds the lock.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait,
                                  std::error_code& ec) {
    return try_for(wait_of(wait), ec);
  }

  /// Waits for the lock until a point in time of any clock. At the end of the wait the call reads
  /// that clock again. If the clock was set back, the call continues to wait.
  ///
  /// @return true if the calling thread holds the lock
  /// @errors as `lock()`
  template <class C, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<C, Duration>& until) {
    for (;;) {
      const std::chrono::nanoseconds left = left_until(until);
      if (acquire({.wait = left})) return true;
      if (left_until(until).count() == 0) return false;
    }
  }
  /// As above without exceptions. `ec` is clear if another owner holds the lock.
  template <class C, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<C, Duration>& until,
                                    std::error_code& ec) {
    for (;;) {
      if (try_for(left_until(until), ec)) return true;
      if (ec || left_until(until).count() == 0) return false;
    }
  }

  /// Takes the lock with a time limit, a stop token and an owner.
  ///
  /// @return true if `options.owner` holds the lock; false if another owner held it until the time
  /// was up, or if `options.stop` ended the wait
  /// @errors as `lock()`; contention is not thrown
  [[nodiscard]] bool acquire(const AcquireOptions& options);
  /// As above without exceptions. `ec` is clear on success. After contention, `ec` is `timeout` or
  /// `cancelled`.
  [[nodiscard]] bool acquire(const AcquireOptions& options, std::error_code& ec);

  /// Takes the lock without a thread that waits, and without a time limit. As below.
  [[nodiscard]] Pending<Guard> acquire_async();
  /// Takes the lock without a thread that waits, within a time limit: `acquire_async(2s)` means
  /// `acquire_async({.wait = 2s})`.
  template <Wait Time>
  [[nodiscard]] Pending<Guard> acquire_async(const Time& wait);
  /// Takes the lock without a thread that waits: see `Pending`. If the call does not get the lock,
  /// the guard in the result is empty, and has the error. The destructor of a guard in the result
  /// does not wait for the store.
  ///
  /// @param options the time limit, the stop token and the owner. An empty owner means a new owner
  /// @return the call, which has not begun yet
  /// @errors `misconfigured` (the owner is a thread), `unsupported` (the waiters of `file:` need
  /// threads), thrown as `Error`; in the result as `lock()`
  [[nodiscard]] Pending<Guard> acquire_async(const AcquireOptions& options);

  /// Undoes one `lock()` of the owner. The last unlock passes the name to the next waiter of this
  /// process, or frees the name at the server.
  ///
  /// After the last unlock, the owner no longer holds the lock. If `LockOptions::min_hold` has not
  /// elapsed yet, the store keeps the name reserved until then. If the hold was lost or the client
  /// was closed, the call reports no error, because destructors of the standard guards call
  /// `unlock()`.
  /// @param owner the owner that unlocks; by default the calling thread
  /// @errors `not_owner` if the owner has no hold; the call then changes nothing
  /// @blocking At most one command timeout.
  void unlock(Owner owner = {});
  /// As above without exceptions.
  void unlock(std::error_code& ec, Owner owner = {});

  /// Unlocks as `unlock()` does, and returns the state of the hold.
  ///
  /// @return `released` if the hold lasted until now. An inner unlock and an unlock before the end
  /// of `LockOptions::min_hold` return `released` as well. `was_lost` if the hold had already
  /// ended. `unknown` if no reply arrived, or if the first reply was lost and the retry found
  /// another owner. After `Client::close()` and in a forked child, always `unknown`
  /// @errors `not_owner`
  Released release(Owner owner = {});
  /// As above without exceptions. If the owner has no hold, returns `was_lost` and sets `ec` to
  /// `not_owner`.
  Released release(std::error_code& ec, Owner owner = {});

  /// @return how many times the owner still has to unlock, even after a loss; 0 without a hold.
  [[nodiscard]] std::size_t hold_count(Owner owner = {}) const;

  /// @return the fencing token of the owner's hold, even after its loss; empty without a hold.
  [[nodiscard]] Token token(Owner owner = {}) const;

  /// Compares the clock with the deadline of the hold. Sends no request.
  ///
  /// @return how long the owner's hold is certain to last without another renewal. From the
  /// deadline on, the result is zero and stays zero. Without a hold, the result is zero. If the
  /// backend has no leases, the result is `nanoseconds::max()`
  [[nodiscard]] std::chrono::nanoseconds valid_for(Owner owner = {}) const;

  /// Returns a stop token that reports the loss of the owner's hold.
  ///
  /// The client requests the stop exactly once, when the client detects the loss: at the latest 50
  /// ms after the deadline. Callbacks run on threads of the client. A callback may block, may lock
  /// and unlock, and may destroy any object, including the `Client`. As long as fewer than 64
  /// callbacks of the client block, they do not delay the reports about other holds.
  /// @return the token; without a hold, a token that reports no loss
  [[nodiscard]] std::stop_token lost(Owner owner = {}) const;

  /// Asks the backend for the current holder, with one round trip.
  ///
  /// @return the holder at some moment during the call; empty if the lock was free
  /// @errors `unavailable`, `denied`, `unsupported`, `protocol`, `closed`
  /// @blocking At most one second.
  [[nodiscard]] std::optional<Holder> holder() const;
  /// As above without exceptions.
  [[nodiscard]] std::optional<Holder> holder(std::error_code& ec) const;

  /// @return the name of the lock.
  [[nodiscard]] const std::string& name() const noexcept;

 private:
  friend class Client;
  friend class Guard;
  friend class Guards;
  friend class Semaphore;
  Lock(std::shared_ptr<runtime::Slot> slot, std::shared_ptr<const core::Terms> terms) noexcept;

  bool try_for(std::chrono::nanoseconds wait, std::error_code& ec);

  /// @return the time until a time point; zero if that time has come.
  template <class C, class Duration>
  static std::chrono::nanoseconds left_until(const std::chrono::time_point<C, Duration>& until) {
    // Compare as floating point, because floating point does not overflow for any duration.
    using Seconds = std::chrono::duration<double>;
    const auto now = C::now();
    const auto about = std::chrono::duration_cast<Seconds>(until.time_since_epoch()) -
                       std::chrono::duration_cast<Seconds>(now.time_since_epoch());
    if (wait_of(about) == forever) return forever;
    // The exact difference to a time far in the past could overflow. So return zero for such a
    // time. Near the present, the difference is exact.
    if (!(about > Seconds(-1))) return std::chrono::nanoseconds(0);
    return wait_of(until - now);
  }

  std::shared_ptr<runtime::Slot> slot_;
  std::shared_ptr<const core::Terms> terms_;
};

}  // namespace mortise
