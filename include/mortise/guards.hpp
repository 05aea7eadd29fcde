// SPDX-License-Identifier: MIT
// Several locks taken as one: all of them or none, within one time limit, and without a deadlock.
#pragma once

#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/lock.hpp>
#include <mortise/mode.hpp>
#include <mortise/options.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace mortise {

namespace runtime {
/// One of several names that are held.
struct HeldSlot {
  std::shared_ptr<Slot> slot;
  Mode mode = Mode::exclusive;  ///< by which it is to be unlocked
};
}  // namespace runtime

/// What `lock_all()` has taken; frees all of it when it is destroyed, by whichever thread.
///
/// Where it holds nothing it tells why in `error()`, and of which lock that is said in
/// `failed_name()`. A hold has its token, and its loss, from its `Lock`, asked with `owner()`.
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
  using Locks = std::span<const std::reference_wrapper<Lock>>;
  friend MORTISE_API Guards lock_all(Locks locks, const AcquireOptions& options);
  friend MORTISE_API Guards lock_all(Locks locks, const AcquireOptions& options,
                                     std::error_code& ec);
  void take(Locks locks, const AcquireOptions& options);

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
/// @param locks need not outlive the call; none at all is success
/// @param options one time limit and stop token for all; the owner of each
/// @return what it took. Where it did not by contention, it converts to false, tells `timeout` or
/// `cancelled`, and which lock was busy, in `failed_name()` and `holder()`
/// @errors as `Lock::lock()` of any of them, thrown as `Error` whose words begin with the name;
/// contention is not thrown
/// @blocking as long as `options.wait` says (+ 50 ms in every fault); where that is zero or less,
/// at most one command time-out. What has to be given back is sent by then; its answers the client
/// awaits in the background
[[nodiscard]] MORTISE_API Guards lock_all(std::span<const std::reference_wrapper<Lock>> locks,
                                          const AcquireOptions& options = {});
/// The same without exceptions: `ec` equals `error()`.
[[nodiscard]] MORTISE_API Guards lock_all(std::span<const std::reference_wrapper<Lock>> locks,
                                          const AcquireOptions& options, std::error_code& ec);
/// The same for those that can be written down: `lock_all({from, to}, {.wait = 2s})`.
[[nodiscard]] inline Guards lock_all(std::initializer_list<std::reference_wrapper<Lock>> locks,
                                     const AcquireOptions& options = {}) {
  return lock_all(std::span(locks.begin(), locks.size()), options);
}
/// The same without exceptions.
[[nodiscard]] inline Guards lock_all(std::initializer_list<std::reference_wrapper<Lock>> locks,
                                     const AcquireOptions& options, std::error_code& ec) {
  return lock_all(std::span(locks.begin(), locks.size()), options, ec);
}

}  // namespace mortise
