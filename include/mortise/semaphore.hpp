// SPDX-License-Identifier: MIT
// A name with N permits: at most N holders at a time, in all processes together.
#pragma once

#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/options.hpp>
#include <mortise/pending.hpp>
#include <mortise/permit.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
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

/// A handle on one semaphore of one client. `Client::make_semaphore()` returns the handle.
///
/// A permit is a hold, like the hold of a lock. A permit has a lease that the client renews, a
/// fencing token and an owner. A permit can be lost. If a process dies, its permits become free
/// when their leases end. (A plain counter would never free these permits.) If `Capabilities::fair`
/// is yes, the store gives permits in order of arrival. A permit that becomes free wakes one
/// waiter.
///
/// Each call takes a separate permit. A thread that calls three times has three permits. If a
/// thread has the last permit and waits for another permit, the thread waits for itself.
///
/// A call with an `AcquireOptions::owner` can re-enter instead. If this owner already has a permit,
/// the call returns the same permit again. This works through any handle of the client with the
/// same number of permits. The client frees the permit when the owner's last `Permit` object ends.
/// The library passes a lock from thread to thread, but not a permit. Each owner asks the store for
/// its own permit.
///
/// Semaphores and locks are separate: the semaphore "x" and the lock "x" are independent. The
/// tokens of a semaphore grow with each grant. Several tokens are valid at a time. So a resource
/// that checks tokens must compare the tokens of each permit separately.
///
/// @thread_safety Every member may be called concurrently, even on one object. Moving and
/// destroying need exclusive access, as for any object. Do not call a member of a moved-from
/// handle.
class MORTISE_WARN_UNUSED MORTISE_API Semaphore {
 public:
  Semaphore(Semaphore&&) noexcept;
  Semaphore& operator=(Semaphore&&) noexcept;
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  ~Semaphore();

  /// Takes a permit. Needs one round trip if a permit is free.
  ///
  /// @param options the time limit, the stop token, and an owner that can re-enter. Without an
  /// owner, each permit is its own owner
  /// @return the permit. The permit is empty if other owners held all permits until the time was
  /// up, or if the wait was stopped. `Permit::error()` then returns the reason
  /// @errors as `Lock::lock()`, thrown as `Error`; `misconfigured` if the store knows the name with
  /// a different number of permits. The message contains both numbers. The store knows the number
  /// while a client holds a permit or waits for a permit
  [[nodiscard]] Permit acquire(const AcquireOptions& options = {});
  /// As above without exceptions. `ec` equals `Permit::error()`.
  [[nodiscard]] Permit acquire(const AcquireOptions& options, std::error_code& ec);
  /// Takes a permit if one is free now.
  [[nodiscard]] Permit try_acquire() { return acquire({.wait = std::chrono::nanoseconds(0)}); }
  /// As above without exceptions.
  [[nodiscard]] Permit try_acquire(std::error_code& ec) {
    return acquire({.wait = std::chrono::nanoseconds(0)}, ec);
  }
  /// Waits for a permit, at most for a given time plus 50 ms. The limit applies during every fault
  /// of the store and the network.
  ///
  /// @param wait the longest wait, any `std::chrono` duration; zero or less means one try
  /// @return as `acquire()`
  /// @errors as `acquire()`
  template <Wait Time>
  [[nodiscard]] Permit try_acquire_for(const Time& wait) {
    return acquire({.wait = wait_of(wait)});
  }
  /// As above without exceptions.
  template <Wait Time>
  [[nodiscard]] Permit try_acquire_for(const Time& wait, std::error_code& ec) {
    return acquire({.wait = wait_of(wait)}, ec);
  }

  /// Takes a permit without a thread that waits, and without a time limit. As below.
  [[nodiscard]] Pending<Permit> acquire_async();
  /// Takes a permit without a thread that waits, within a time limit: `acquire_async(2s)` means
  /// `acquire_async({.wait = 2s})`.
  template <Wait Time>
  [[nodiscard]] Pending<Permit> acquire_async(const Time& wait) {
    return acquire_async(AcquireOptions{.wait = wait_of(wait)});
  }
  /// Takes a permit without a thread that waits: see `Pending`. If the call does not get a permit,
  /// the permit in the result is empty, and has the error. The destructor of a permit in the result
  /// does not wait for the store.
  ///
  /// @param options as for `acquire()`; the owner must not be a thread
  /// @return the call, which has not begun yet
  /// @errors as `Lock::acquire_async()`; `closed`, thrown as `Error`
  [[nodiscard]] Pending<Permit> acquire_async(const AcquireOptions& options);

  /// @return the name of the semaphore.
  [[nodiscard]] const std::string& name() const noexcept;
  /// @return the number of permits of the semaphore.
  [[nodiscard]] std::uint32_t permits() const noexcept;

 private:
  friend class Client;
  Semaphore(std::shared_ptr<runtime::Slot> slot, std::shared_ptr<const core::Terms> terms) noexcept;

  [[nodiscard]] Lock handle_of(Owner owner) const;

  std::shared_ptr<runtime::Slot> slot_;  // has no hold: each owner has its own slot
  std::shared_ptr<const core::Terms> terms_;
};

}  // namespace mortise
