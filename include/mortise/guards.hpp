// SPDX-License-Identifier: MIT
// Takes several locks together: all or none, within one time limit, and without a deadlock.
#pragma once

#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/lock.hpp>
#include <mortise/mode.hpp>
#include <mortise/options.hpp>
#include <mortise/pending.hpp>
#include <mortise/store_id.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace mortise {

namespace runtime {
class AcquireAllCall;
class PendingAcquireAll;
/// One of the holds of a `Guards` object.
struct HeldSlot {
  std::shared_ptr<Slot> slot;
  Mode mode = Mode::exclusive;  ///< the mode to unlock with
};
}  // namespace runtime

/// The argument of `lock_all()` for locks: `{from, to}`, or a range such as `std::vector<Lock>`.
/// The compiler converts the list or the range. A `LockList` stores pointers, so the locks must
/// live until the call returns.
class LockList {
 public:
  /// One lock of the list. The lock may be a temporary.
  class Item {
   public:
    Item(Lock& lock) noexcept : lock_(&lock) {}
    Item(Lock&& lock) noexcept : lock_(&lock) {}
    Item(std::reference_wrapper<Lock> lock) noexcept : lock_(&lock.get()) {}

   private:
    friend class LockList;
    Lock* lock_;
  };

  LockList(std::initializer_list<Item> items) {
    locks_.reserve(items.size());
    for (const Item& item : items) locks_.push_back(item.lock_);
  }
  /// @param range locks that live until the call returns, or references to such locks
  template <class Range>
  requires requires(Range& range) {
    requires std::convertible_to<decltype(*std::begin(range)), Item>;
    requires !std::same_as<decltype(*std::begin(range)), Lock>;
    std::end(range);
  }
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): a list is not a range of locks
  LockList(Range&& range) {
    for (auto&& lock : range) locks_.push_back(Item(std::forward<decltype(lock)>(lock)).lock_);
  }

 private:
  friend class Guards;
  std::vector<Lock*> locks_;
};

/// The argument of `lock_all()` for names: `{"a", "b"}`, or a range such as
/// `std::vector<std::string>`. The compiler converts the list or the range. A `NameList` does not
/// copy the names, so the names must live until the call returns.
class NameList {
 public:
  NameList(std::initializer_list<std::string_view> names) : names_(names) {}
  /// @param range names that live until the call returns
  template <class Range>
  requires requires(Range& range) {
    requires std::convertible_to<decltype(*std::begin(range)), std::string_view>;
    // A single-pass iterator may return a reference to a buffer that its next step overwrites.
    requires std::forward_iterator<decltype(std::begin(range))>;
    requires std::is_reference_v<decltype(*std::begin(range))> ||
        std::same_as<decltype(*std::begin(range)), std::string_view>;
    std::end(range);
  }
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): a list is not a range of names
  NameList(Range&& range) : names_(std::begin(range), std::end(range)) {}

 private:
  friend class Guards;
  std::vector<std::string_view> names_;
};

/// One hold of a `Guards` object.
struct GuardedHold {
  std::string name{};  ///< the name of the lock
  Token token{};       ///< the fencing token, even after a loss
  StoreId store{};     ///< the store that has the hold
};

/// The holds that `lock_all()` has taken. The destructor unlocks all holds. Any thread may destroy
/// the object.
///
/// If the object holds nothing, `error()` returns the reason. `failed_name()` then returns the name
/// of the lock that failed. Each `Lock` reports the loss of its own hold:
/// `lock.lost(guards.owner())`.
/// @thread_safety One thread at a time. `valid_for()` may be called concurrently with itself.
class MORTISE_API Guards {
 public:
  /// Makes an object that holds nothing.
  Guards() noexcept;
  Guards(Guards&& other) noexcept;
  /// Unlocks the holds of this object first. Then takes over the holds of `other`.
  Guards& operator=(Guards&& other) noexcept;
  Guards(const Guards&) = delete;
  Guards& operator=(const Guards&) = delete;
  /// Unlocks all holds, as `unlock()` does. The destructor of an object from `lock_all_async()`
  /// sends the requests and does not wait. The client repeats a request without an answer.
  ~Guards();

  /// @return true if the object took all locks and has not unlocked them. After a loss, the result
  /// is still true.
  [[nodiscard]] explicit operator bool() const noexcept { return holds_; }
  /// Unlocks all holds now. Sends all requests together if the backend supports this. Never throws.
  ///
  /// @return `released` if every lock returned `released`. Otherwise `was_lost` if any hold was
  /// lost, or if the object held nothing. Otherwise `unknown`
  /// @blocking At most one command timeout, for any number of locks.
  Released unlock() noexcept;

  /// @return the number of locks that the object has to unlock. A lock that was twice in the list
  /// counts twice.
  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
  /// @return how long all holds are certain to last without another renewal: the shortest
  /// `Lock::valid_for()`. Zero if nothing is held. `nanoseconds::max()` if the list of locks was
  /// empty.
  [[nodiscard]] std::chrono::nanoseconds valid_for() const noexcept;
  /// @return the fencing token of the lock with this name, even after a loss; empty if nothing is
  /// held.
  /// @errors `misconfigured`, thrown as `Error`: no lock in the list has this name, or locks in
  /// several stores have this name (in that case, use `holds()`)
  [[nodiscard]] Token token(std::string_view name) const;
  /// @return each hold once, in the order of the names; empty if nothing is held.
  [[nodiscard]] std::vector<GuardedHold> holds() const;
  /// @return the owner of the holds.
  [[nodiscard]] Owner owner() const noexcept { return owner_; }

  /// @return why the object holds nothing; clear if it holds the locks or has unlocked them.
  [[nodiscard]] const std::error_code& error() const noexcept { return failure_.code; }
  /// @return the message for `error()`: the lock, and the reason.
  [[nodiscard]] std::string error_text() const { return failure_.words(); }
  /// @return the name of the lock that caused `error()`. After a timeout, this is the name of the
  /// busy lock.
  [[nodiscard]] const std::string& failed_name() const noexcept { return failed_name_; }
  /// @return the last known holder of the lock `failed_name()`; empty if the backend reported no
  /// holder.
  [[nodiscard]] const std::optional<Holder>& holder() const noexcept { return holder_; }

 private:
  friend class runtime::PendingAcquireAll;
  friend MORTISE_API Guards lock_all(const LockList& locks, const AcquireOptions& options);
  friend MORTISE_API Guards lock_all(const LockList& locks, const AcquireOptions& options,
                                     std::error_code& ec);
  friend MORTISE_API Guards lock_all(Client& client, const NameList& names,
                                     const AcquireOptions& options, const LockOptions& lock);
  friend MORTISE_API Guards lock_all(Client& client, const NameList& names,
                                     const AcquireOptions& options, const LockOptions& lock,
                                     std::error_code& ec);
  friend MORTISE_API Pending<Guards> lock_all_async(const LockList& locks,
                                                    const AcquireOptions& options);
  friend MORTISE_API Pending<Guards> lock_all_async(Client& client, const NameList& names,
                                                    const AcquireOptions& options,
                                                    const LockOptions& lock);

  /// The result of an asynchronous call.
  Guards(runtime::AcquireAllCall& call, Owner owner, const Failure& failure) noexcept;
  /// @param client carries the call out; null: the client of the first lock
  static Pending<Guards> pending(const LockList& locks, const AcquireOptions& options,
                                 Client* client);
  static Pending<Guards> pending(Client& client, const NameList& names,
                                 const AcquireOptions& options, const LockOptions& lock);

  void take(const LockList& locks, const AcquireOptions& options);
  void take(Client& client, const NameList& names, const AcquireOptions& options,
            const LockOptions& lock);
  void learn_from(runtime::AcquireAllCall& call);
  void receive(runtime::AcquireAllCall& call) noexcept;
  Released leave(bool waits) noexcept;

  bool holds_ = false;
  bool waits_ = true;  // the destructor waits for the answers of the store
  std::vector<runtime::HeldSlot> slots_;
  Owner owner_;
  Failure failure_;
  std::string failed_name_;
  std::optional<Holder> holder_;
};

/// Takes all of the locks, or none.
///
/// The locks may belong to different clients and backends. The library orders the locks by their
/// names, not by the order of the arguments. So callers with overlapping lists never wait for each
/// other in a circle. If a list contains a lock twice, the owner re-enters this lock. If a list
/// contains one lock both as a reader and exclusively, the call fails with `misconfigured`.
///
/// The call sends all requests together. So eight locks take about as long as one lock. If a lock
/// is busy, the call gives the other locks back and waits for the busy lock. During this first
/// wait, the call holds none of the locks. If another lock is busy afterwards, the call keeps the
/// locks whose names come before the name of this busy lock. The call does not release locks that
/// the owner held before the call.
///
/// If locks in different stores have the same name, the library orders these locks by the
/// descriptions of the stores. The descriptions come from the URLs. So use the same URLs in all
/// processes. Do not pass the same name through two clients of one store. These clients exclude
/// each other, so the call can never succeed.
/// @param locks the locks, as `{from, to}` or as a range. The locks need not outlive the call. A
/// call with an empty list succeeds
/// @param options one time limit and one stop token for all locks, and the owner of each lock
/// @return the holds. The result converts to false if another owner held a lock until the time was
/// up, or if the wait was stopped. `error()` is then `timeout` or `cancelled`. `failed_name()`
/// returns the name of the busy lock. `holder()` returns the holder of that lock
/// @errors as `Lock::lock()` of any of the locks, thrown as `Error`. The message begins with the
/// name of the lock. Contention is not thrown
/// @blocking At most `options.wait` plus 50 ms, during every fault. If `options.wait` is zero or
/// less, at most one command timeout plus 50 ms. A call that fails sends all requests to release
/// its locks before it returns. The client reads the answers to these requests in the background.
[[nodiscard]] MORTISE_API Guards lock_all(const LockList& locks,
                                          const AcquireOptions& options = {});
/// As above without exceptions. `ec` equals `error()`.
[[nodiscard]] MORTISE_API Guards lock_all(const LockList& locks, const AcquireOptions& options,
                                          std::error_code& ec);

/// Takes the locks of several names of one client, or none:
/// `lock_all(client, {"accounts/1", "accounts/2"}, {.wait = 2s})`.
///
/// @param client the client that makes the locks
/// @param names as for `Client::make_lock()`
/// @param options as above
/// @param lock as for `Client::make_lock()`, the same for each lock
/// @return as above
/// @errors as `Client::make_lock()`, and as above
/// @blocking As above.
[[nodiscard]] MORTISE_API Guards lock_all(Client& client, const NameList& names,
                                          const AcquireOptions& options = {},
                                          const LockOptions& lock = {});
/// As above without exceptions. `ec` equals `error()`.
[[nodiscard]] MORTISE_API Guards lock_all(Client& client, const NameList& names,
                                          const AcquireOptions& options, const LockOptions& lock,
                                          std::error_code& ec);
[[nodiscard]] inline Guards lock_all(Client& client, const NameList& names,
                                     const AcquireOptions& options, std::error_code& ec) {
  return lock_all(client, names, options, {}, ec);
}

/// Takes all of the locks, or none, without a thread that waits: see `Pending`. The call works as
/// `lock_all()`, with these differences:
/// - The owner is never a thread. If `options.owner` is empty, the call has a new owner, which the
///   result keeps. If the owner holds one of the locks, the call re-enters it.
/// - The client of the first lock in the list carries the call out, and runs the handler. If the
///   program closes that client, the call ends with `closed`. Poll each client of `Drive::program`
///   until the call ends.
/// - The destructor of the result does not wait for the store. The call gives locks back in the
///   same way.
/// - The call reports each name to an observer once: `waits` at its start, and the rest at its end.
///   It does not report holds that it takes and gives back in between. If the client loses such a
///   hold, or is closed during the call, the observer may get `lost` without `granted`.
///
/// @param locks the locks, as `{from, to}` or as a range. The locks need not outlive this function
/// @param options as for `lock_all()`
/// @return the call, which has not begun yet. After contention, its result is empty
/// @errors `misconfigured` (the owner is a thread, or the list is empty), `unsupported` (the
/// waiters of `file:` need threads), thrown as `Error`; in the result as `lock_all()`
[[nodiscard]] MORTISE_API Pending<Guards> lock_all_async(const LockList& locks,
                                                         const AcquireOptions& options);
/// As above, without a time limit.
[[nodiscard]] inline Pending<Guards> lock_all_async(const LockList& locks) {
  return lock_all_async(locks, AcquireOptions());
}
/// As above, within a time limit: `lock_all_async({from, to}, 2s)`.
template <Wait Time>
[[nodiscard]] Pending<Guards> lock_all_async(const LockList& locks, const Time& wait) {
  return lock_all_async(locks, AcquireOptions{.wait = wait_of(wait)});
}

/// Takes the locks of several names of one client, or none, without a thread that waits:
/// `lock_all_async(client, {"accounts/1", "accounts/2"}, 2s)`. The list may be empty.
///
/// @param client the client that makes the locks, and carries the call out
/// @param names as for `Client::make_lock()`
/// @param options as above
/// @param lock as for `Client::make_lock()`, the same for each lock
/// @return as above
/// @errors as `Client::make_lock()`, and as above
[[nodiscard]] MORTISE_API Pending<Guards> lock_all_async(Client& client, const NameList& names,
                                                         const AcquireOptions& options,
                                                         const LockOptions& lock);
[[nodiscard]] inline Pending<Guards> lock_all_async(Client& client, const NameList& names,
                                                    const AcquireOptions& options) {
  return lock_all_async(client, names, options, LockOptions());
}
/// As above, without a time limit.
[[nodiscard]] inline Pending<Guards> lock_all_async(Client& client, const NameList& names) {
  return lock_all_async(client, names, AcquireOptions());
}
/// As above, within a time limit.
template <Wait Time>
[[nodiscard]] Pending<Guards> lock_all_async(Client& client, const NameList& names,
                                             const Time& wait) {
  return lock_all_async(client, names, AcquireOptions{.wait = wait_of(wait)});
}

/// Does not compile. Put the locks into one list.
template <std::same_as<Lock>... More>
Guards lock_all(Lock&, Lock&, More&...) {
  static_assert(sizeof...(More) > 1'000'000,
                "Mortise: put the locks into braces, lock_all({a, b}, {.wait = 2s})");
  return {};
}

}  // namespace mortise
