// SPDX-License-Identifier: MIT
// The lock on one name. Meets the standard's Lockable and TimedLockable, so that std::unique_lock,
// std::scoped_lock and std::lock_guard work on it as on a std::recursive_timed_mutex.
#pragma once

#include <mortise/duration.hpp>
#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/options.hpp>
#include <mortise/owner.hpp>
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

/// A handle on one name of one client; get it from `Client::make_lock()`.
///
/// Two handles of one name and one client are the same lock. The options belong to the handle;
/// those of the outermost acquisition rule the hold, a re-entry changes nothing but the count.
///
/// What one owner sees of a name (its *hold*), and what each event does to it:
///
/// | state \ event   | lock / try_lock      | unlock         | renewal acknowledged | deadline passes, server says no, or max_hold |
/// |-----------------|----------------------|----------------|----------------------|--------------------------|
/// | free            | -> waiting -> held   | `not_owner`    | -                    | -                        |
/// | waiting         | (the caller blocks)  | `not_owner`    | -                    | -                        |
/// | held            | held, count + 1      | count - 1; at 0 -> free | held, later deadline | -> lost         |
/// | jeopardy (renewal overdue) | as held   | as held        | -> held              | -> lost                  |
/// | lost            | fails with `lost`    | count - 1, silently; at 0 -> free | stays lost | stays lost      |
/// | closed or forked client | fails with `closed` | silent  | -                    | -                        |
///
/// A handle with `Mode::shared` is a reader's. Readers hold the name together and exclude exclusive
/// owners only; in both directions who comes later waits behind who waits already, inside the
/// process and between clients, so that neither side starves. The two modes are two holds: every
/// member tells and ends the one of its handle's own mode. Beside the table above:
/// - the first reader of a client takes the hold with one round trip, the others join it with none;
/// - an exclusive owner may take the name shared too, and release the exclusive hold afterwards: it
///   goes on as a reader, and nobody was the owner in between (a downgrade);
/// - a reader that asks for the name exclusively is refused with `unsupported`: two of them would
///   wait for each other for ever. Unlock first.
/// `ReadWriteLock` has both handles.
///
/// `lost` leaves the name at once: other owners may acquire it while this owner still has to
/// unlock.
///
/// A thread that ends while it holds leaves a hold that nobody can unlock. It is not renewed any
/// more, ends with its lease, and is told as lost; where the backend has no leases it is freed
/// within `LockOptions::lease`. That goes for whatever was taken as the calling thread, by
/// `std::unique_lock` too, wherever that was moved; not for a `Guard`, nor for `Owner::unique()`,
/// which others can still unlock.
///
/// A lock that rests on a lease can be lost while its holder works. Look at `valid_for()` or
/// `lost()` before a step that cannot be undone, and hand `token()` to the store, which refuses
/// older ones: a pause between the look and the step can only be caught there.
///
/// @thread_safety every member may be called concurrently, also on one object; moving and
/// destroying need exclusion, as for any object. No member may be called on a moved-from handle.
class MORTISE_WARN_UNUSED MORTISE_API Lock {
 public:
  Lock(Lock&&) noexcept;
  Lock& operator=(Lock&&) noexcept;
  /// Frees nothing: a hold outlives the handle and is found again by the next handle of the name.
  ~Lock();

  /// Waits until the calling thread holds the lock.
  ///
  /// Re-enters at once, without a round trip, where the thread holds it already.
  /// @errors `unavailable` (no connection for `ClientOptions::give_up`), `denied`, `lost` (an
  /// earlier hold of this thread was lost and is not unlocked yet), `in_doubt`, `misconfigured`,
  /// `unsupported` (this thread holds the name as a reader), `protocol`, `exhausted`, `closed`
  /// @blocking yes; in order of arrival within the process
  void lock();
  /// The same, reporting through `ec` instead of throwing `Error`; clear on success.
  void lock(std::error_code& ec);

  /// Takes the lock if it is free now: one round trip, none to re-enter.
  ///
  /// @return whether the calling thread holds it; `false` is contention, not an error.
  /// @errors as `lock()`; `unavailable` where there is no connection within a command time-out
  /// @blocking at most one command time-out, min(1 s, lease/6)
  [[nodiscard]] bool try_lock();
  /// The same without exceptions: contention gives `false` and a clear `ec`.
  [[nodiscard]] bool try_lock(std::error_code& ec);

  /// Waits for the lock at most as long as said (+ 50 ms in every fault).
  ///
  /// @param wait the longest wait; zero or less = one try
  /// @return whether the calling thread holds it
  /// @errors as `lock()`
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
    return acquire({.wait = wait_of(wait)});
  }
  /// The same without exceptions: contention gives `false` and a clear `ec`.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait,
                                  std::error_code& ec) {
    return try_for(wait_of(wait), ec);
  }

  /// Waits for the lock until a moment of any clock; where that clock is stepped it is read again.
  ///
  /// @return whether the calling thread holds it
  /// @errors as `lock()`
  template <class C, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<C, Duration>& until) {
    for (;;) {
      const std::chrono::nanoseconds left = left_until(until);
      if (acquire({.wait = left})) return true;
      if (left_until(until).count() == 0) return false;
    }
  }
  /// The same without exceptions: contention gives `false` and a clear `ec`.
  template <class C, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<C, Duration>& until,
                                    std::error_code& ec) {
    for (;;) {
      if (try_for(left_until(until), ec)) return true;
      if (ec || left_until(until).count() == 0) return false;
    }
  }

  /// Takes the lock with everything that can be said: wait, cancellation, owner.
  ///
  /// @return whether `options.owner` holds it; `false` where it was held by somebody else until the
  /// time was up or `options.stop` ended the wait
  /// @errors as `lock()`; contention is not thrown
  [[nodiscard]] bool acquire(const AcquireOptions& options);
  /// The same without exceptions; `ec` is clear, or tells `timeout` and `cancelled` as well.
  [[nodiscard]] bool acquire(const AcquireOptions& options, std::error_code& ec);

  /// Takes back one `lock()` of the owner; the last one frees the name: by passing it to the next
  /// waiter of this process, or at the server. (A name with a `LockOptions::min_hold` that is not
  /// over the store frees when it is; the owner holds it no more.)
  ///
  /// Silent where the hold was lost, or the client closed: standard guards call it.
  /// @param owner who unlocks; default: the calling thread
  /// @errors `not_owner`, for an owner without a hold; nothing changes then
  /// @blocking bounded by a command time-out
  void unlock(Owner owner = {});
  /// The same without exceptions.
  void unlock(std::error_code& ec, Owner owner = {});

  /// `unlock()` that tells what it found.
  ///
  /// @return `released`, also for an inner unlock of a hold that still stands, and for a name that
  /// is kept for `LockOptions::min_hold`; `was_lost`;
  /// `unknown` where the answer did not come, or came to a repetition only, when somebody else had
  /// the name; and after `Client::close()` or in a forked child
  /// @errors `not_owner`
  Released release(Owner owner = {});
  /// The same without exceptions; an owner without a hold gets `was_lost` beside `not_owner`.
  Released release(std::error_code& ec, Owner owner = {});

  /// @return how many unlocks the owner owes, lost holds included; 0 = no hold.
  [[nodiscard]] std::size_t hold_count(Owner owner = {}) const;

  /// @return the fencing token of the owner's hold, also after its loss; empty without a hold.
  [[nodiscard]] Token token(Owner owner = {}) const;

  /// Looks at the clock and the hold's own deadline; asks no server.
  ///
  /// @return how long the owner's hold is certain to stand unless it is renewed; zero from the
  /// deadline on, for ever, and without a hold; `nanoseconds::max()` where the backend has no
  /// leases
  [[nodiscard]] std::chrono::nanoseconds valid_for(Owner owner = {}) const;

  /// @return a token whose stop is requested exactly once, when the owner's hold is lost: as soon
  /// as that is known, at the deadline at the latest (+ 50 ms). Callbacks run on threads that the
  /// client has for them and may block, lock, unlock or destroy anything, the `Client` included;
  /// other holds' losses are told meanwhile, as long as fewer than 64 callbacks of the client
  /// block. Without a hold: a token for which no stop can be requested.
  [[nodiscard]] std::stop_token lost(Owner owner = {}) const;

  /// Asks the backend who holds the lock: one round trip.
  ///
  /// @return the holder at some moment during the call; empty = free
  /// @errors `unavailable`, `denied`, `protocol`, `closed`
  [[nodiscard]] std::optional<Holder> holder() const;
  /// The same without exceptions.
  [[nodiscard]] std::optional<Holder> holder(std::error_code& ec) const;

  /// @return the name.
  [[nodiscard]] const std::string& name() const noexcept;

 private:
  friend class Client;
  friend class Guard;
  friend class Guards;
  friend class Semaphore;
  Lock(std::shared_ptr<runtime::Slot> slot, std::shared_ptr<const core::Terms> terms) noexcept;

  bool try_for(std::chrono::nanoseconds wait, std::error_code& ec);

  /// The time until a moment; zero if it has come.
  template <class C, class Duration>
  static std::chrono::nanoseconds left_until(const std::chrono::time_point<C, Duration>& until) {
    // Compared as floating point, which no duration overflows.
    using Seconds = std::chrono::duration<double>;
    const auto now = C::now();
    const auto about = std::chrono::duration_cast<Seconds>(until.time_since_epoch()) -
                       std::chrono::duration_cast<Seconds>(now.time_since_epoch());
    if (wait_of(about) == forever) return forever;
    // Far in the past, where the exact difference could overflow; near, it is exact.
    if (!(about > Seconds(-1))) return std::chrono::nanoseconds(0);
    return wait_of(until - now);
  }

  std::shared_ptr<runtime::Slot> slot_;
  std::shared_ptr<const core::Terms> terms_;
};

}  // namespace mortise
