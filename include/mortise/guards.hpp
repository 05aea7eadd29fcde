// SPDX-License-Identifier: MIT
// Several locks taken as one: all of them or none, within one time limit, and without a deadlock.
#pragma once

#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/lock.hpp>
#include <mortise/mode.hpp>
#include <mortise/options.hpp>
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
/// One of several names that are held.
struct HeldSlot {
  std::shared_ptr<Slot> slot;
  Mode mode = Mode::exclusive;  ///< by which it is to be unlocked
};
}  // namespace runtime

/// The locks of one `lock_all()`: `{from, to}`, or a range such as `std::vector<Lock>`. It is made
/// of them by itself, and refers to them until the call returns.
class LockList {
 public:
  /// One of them: a `Lock`, also a temporary one.
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
  /// @param range of locks that live until the call returns, or of references to such locks
  template <class Range>
  requires requires(Range& range) {
    requires std::convertible_to<decltype(*std::begin(range)), Item>;
    requires !std::same_as<decltype(*std::begin(range)), Lock>;
    std::end(range);
  }
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): a list is no range of locks
  LockList(Range&& range) {
    for (auto&& lock : range) locks_.push_back(Item(std::forward<decltype(lock)>(lock)).lock_);
  }

 private:
  friend class Guards;
  std::vector<Lock*> locks_;
};

/// The names of one `lock_all()`: `{"a", "b"}`, or a range such as `std::vector<std::string>`. It
/// is made of them by itself, and refers to them until the call returns.
class NameList {
 public:
  NameList(std::initializer_list<std::string_view> names) : names_(names) {}
  /// @param range of names that live until the call returns
  template <class Range>
  requires requires(Range& range) {
    requires std::convertible_to<decltype(*std::begin(range)), std::string_view>;
    // An iterator of one pass may return a reference to a buffer that it fills again.
    requires std::forward_iterator<decltype(std::begin(range))>;
    requires std::is_reference_v<decltype(*std::begin(range))> ||
        std::same_as<decltype(*std::begin(range)), std::string_view>;
    std::end(range);
  }
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): a list is no range of names
  NameList(Range&& range) : names_(std::begin(range), std::end(range)) {}

 private:
  friend class Guards;
  std::vector<std::string_view> names_;
};

/// One of the holds of `Guards`.
struct GuardedHold {
  std::string name{};  ///< of the lock
  Token token{};       ///< the fencing token; stays after a loss
  StoreId store{};     ///< which store the hold is in
};

/// What `lock_all()` has taken; frees all of it when it is destroyed, by whichever thread.
///
/// If the object holds nothing, `error()` says why and `failed_name()` names the lock that failed.
/// The loss of one hold is seen through its `Lock`: `lock.lost(guards.owner())`.
/// @thread_safety one thread at a time; `valid_for()` may be called concurrently with itself.
class MORTISE_API Guards {
 public:
  /// Holds nothing.
  Guards() noexcept;
  Guards(Guards&& other) noexcept;
  /// Frees what it held before it takes over.
  Guards& operator=(Guards&& other) noexcept;
  Guards(const Guards&) = delete;
  Guards& operator=(const Guards&) = delete;
  /// Frees the holds as `unlock()` does.
  ~Guards();

  /// @return whether all locks were taken, and not released since. It says nothing about loss.
  [[nodiscard]] explicit operator bool() const noexcept { return holds_; }
  /// Frees all holds now, in one flight of requests where the backend can.
  ///
  /// @return what was found: `released` where that is so of each; else `was_lost`, also where it
  /// held nothing; else `unknown`. Never throws, and is bounded by one command time-out, whatever
  /// the number of locks.
  Released unlock() noexcept;

  /// @return for how many locks it has to unlock, one that was named twice counted twice.
  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
  /// @return for how long all holds are certain to stand unless they are renewed: the shortest of
  /// `Lock::valid_for()`; zero where it holds nothing, `nanoseconds::max()` for no lock at all.
  [[nodiscard]] std::chrono::nanoseconds valid_for() const noexcept;
  /// @return the fencing token of the lock of that name; empty if nothing is held. Stays after a
  /// loss.
  /// @errors `misconfigured`: none of the held locks has that name, or several stores have one of
  /// that name (then use `holds()`), thrown as `Error`
  [[nodiscard]] Token token(std::string_view name) const;
  /// @return each hold once, in the order of the names; nothing if nothing is held.
  [[nodiscard]] std::vector<GuardedHold> holds() const;
  /// @return who takes part as the owner of the holds.
  [[nodiscard]] Owner owner() const noexcept { return owner_; }

  /// @return why it holds nothing; clear for what holds or was released.
  [[nodiscard]] const std::error_code& error() const noexcept { return failure_.code; }
  /// @return the words to `error()`: which lock, what failed, and why.
  [[nodiscard]] std::string error_text() const { return failure_.words(); }
  /// @return the name of the lock of which `error()` is told: by contention, of the one that was
  /// busy.
  [[nodiscard]] const std::string& failed_name() const noexcept { return failed_name_; }
  /// @return who held that lock when it was seen last, as far as the backend told; empty otherwise.
  [[nodiscard]] const std::optional<Holder>& holder() const noexcept { return holder_; }

 private:
  friend MORTISE_API Guards lock_all(const LockList& locks, const AcquireOptions& options);
  friend MORTISE_API Guards lock_all(const LockList& locks, const AcquireOptions& options,
                                     std::error_code& ec);
  friend MORTISE_API Guards lock_all(Client& client, const NameList& names,
                                     const AcquireOptions& options, const LockOptions& lock);
  friend MORTISE_API Guards lock_all(Client& client, const NameList& names,
                                     const AcquireOptions& options, const LockOptions& lock,
                                     std::error_code& ec);
  void take(const LockList& locks, const AcquireOptions& options);
  void take(Client& client, const NameList& names, const AcquireOptions& options,
            const LockOptions& lock);

  bool holds_ = false;
  std::vector<runtime::HeldSlot> slots_;
  Owner owner_;
  Failure failure_;
  std::string failed_name_;
  std::optional<Holder> holder_;
};

/// Takes all of the locks, or none.
///
/// They may be of different clients and backends. They are taken by their names' order, whatever
/// the order of the arguments, so that callers who want some of the same never wait for each other
/// in a circle; one that is named twice is re-entered, but not as a reader and exclusively at once
/// (`misconfigured`). All are asked for in one flight, so that
/// eight take about the time of one. Where one is busy the others are given back, and the call
/// waits for that one, while it holds none of them; where that repeats itself it keeps those that
/// come first by name. What the owner held before the call stays held while it waits.
///
/// Locks of one name at different stores go by what the stores are called, so give the stores the
/// same URLs in all processes. Two clients of one store are two parties, also in one process: a
/// name that is wanted of both is never had.
/// @param locks `{from, to}`, or a range of locks; they need not outlive the call; none at all is
/// success
/// @param options one time limit and stop token for all; the owner of each
/// @return what it took. Where it did not by contention, it converts to false, tells `timeout` or
/// `cancelled`, and which lock was busy, in `failed_name()` and `holder()`
/// @errors as `Lock::lock()` of any of them, thrown as `Error` whose words begin with the name;
/// contention is not thrown
/// @blocking as long as `options.wait` says (+ 50 ms in every fault); where that is zero or less,
/// at most one command time-out. What has to be given back is sent by then; its answers the client
/// awaits in the background
[[nodiscard]] MORTISE_API Guards lock_all(const LockList& locks,
                                          const AcquireOptions& options = {});
/// The same without exceptions: `ec` equals `error()`.
[[nodiscard]] MORTISE_API Guards lock_all(const LockList& locks, const AcquireOptions& options,
                                          std::error_code& ec);

/// Takes the locks of several names of one client, or none:
/// `lock_all(client, {"accounts/1", "accounts/2"}, {.wait = 2s})`.
///
/// @param client makes the locks
/// @param names as of `Client::make_lock()`
/// @param options as above
/// @param lock as of `Client::make_lock()`, the same for each
/// @return as above
/// @errors as `Client::make_lock()`, and as above
/// @blocking as above
[[nodiscard]] MORTISE_API Guards lock_all(Client& client, const NameList& names,
                                          const AcquireOptions& options = {},
                                          const LockOptions& lock = {});
/// The same without exceptions: `ec` equals `error()`.
[[nodiscard]] MORTISE_API Guards lock_all(Client& client, const NameList& names,
                                          const AcquireOptions& options, const LockOptions& lock,
                                          std::error_code& ec);
[[nodiscard]] inline Guards lock_all(Client& client, const NameList& names,
                                     const AcquireOptions& options, std::error_code& ec) {
  return lock_all(client, names, options, {}, ec);
}

/// Does not compile: the locks belong into one list.
template <std::same_as<Lock>... More>
Guards lock_all(Lock&, Lock&, More&...) {
  static_assert(sizeof...(More) > 1'000'000,
                "Mortise: put the locks into braces, lock_all({a, b}, {.wait = 2s})");
  return {};
}

}  // namespace mortise
