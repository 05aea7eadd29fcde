// SPDX-License-Identifier: MIT
// A name with a number of permits: at most so many hold one at a time, in all processes together.
#pragma once

#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/options.hpp>
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

/// A handle on one semaphore of one client; get it from `Client::make_semaphore()`.
///
/// A permit is a hold as a lock's is: it has a lease that the watchdog renews, a fencing token, a
/// loss, an owner. The permit of a dead process becomes free when its lease ends. A plain
/// counter would lose it. Permits are given in the order of arrival at the store where that is
/// `Capabilities::fair`, and a permit that comes free wakes one waiter.
///
/// Each call takes a permit of its own: one thread that calls three times has three permits. A
/// thread that already has the last permit, and waits for another one, waits for itself.
///
/// A caller that passes an `AcquireOptions::owner` re-enters instead: the same owner, asking again
/// by any handle of the client with that number, gets the same permit. The store frees this permit
/// when the last of its `Permit`s ends. Unlike a lock, a permit is not passed inside the process:
/// each owner asks the store itself.
///
/// Names are a space of their own: the semaphore "x" and the lock "x" do not meet. The tokens of a
/// name's permits grow with each grant, and several of them are valid at a time: a resource that
/// checks tokens has to check them for each permit apart.
///
/// @thread_safety every member may be called concurrently, also on one object; moving and
/// destroying need exclusion, as for any object. No member may be called on a moved-from handle.
class MORTISE_WARN_UNUSED MORTISE_API Semaphore {
 public:
  Semaphore(Semaphore&&) noexcept;
  Semaphore& operator=(Semaphore&&) noexcept;
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  ~Semaphore();

  /// Takes a permit: one round trip where one is free.
  ///
  /// @param options wait, stop, and an owner that re-enters; without one the permit is its own
  /// owner
  /// @return the permit; an empty one, which says why, where all were held until the time was up or
  /// the wait was cancelled
  /// @errors as `Lock::lock()`, thrown as `Error`; `misconfigured` where the store knows the
  /// name with another number of permits (it knows one while somebody holds or waits): the message
  /// has both
  [[nodiscard]] Permit acquire(const AcquireOptions& options = {});
  /// The same without exceptions: `ec` equals `Permit::error()`.
  [[nodiscard]] Permit acquire(const AcquireOptions& options, std::error_code& ec);
  /// One try: takes a permit that is free now, or none.
  [[nodiscard]] Permit try_acquire() { return acquire({.wait = std::chrono::nanoseconds(0)}); }
  /// The same without exceptions.
  [[nodiscard]] Permit try_acquire(std::error_code& ec) {
    return acquire({.wait = std::chrono::nanoseconds(0)}, ec);
  }
  /// Waits for a permit at most as long as said (+ 50 ms in every fault).
  ///
  /// @param wait the longest wait, any `std::chrono` duration; zero or less = one try
  /// @return as `acquire()`
  /// @errors as `acquire()`
  template <Wait Time>
  [[nodiscard]] Permit try_acquire_for(const Time& wait) {
    return acquire({.wait = wait_of(wait)});
  }
  /// The same without exceptions.
  template <Wait Time>
  [[nodiscard]] Permit try_acquire_for(const Time& wait, std::error_code& ec) {
    return acquire({.wait = wait_of(wait)}, ec);
  }

  /// @return the name.
  [[nodiscard]] const std::string& name() const noexcept;
  /// @return how many there are of it.
  [[nodiscard]] std::uint32_t permits() const noexcept;

 private:
  friend class Client;
  Semaphore(std::shared_ptr<runtime::Slot> slot, std::shared_ptr<const core::Terms> terms) noexcept;

  [[nodiscard]] Lock handle_of(Owner owner) const;

  std::shared_ptr<runtime::Slot> slot_;  // nobody's: each owner has one of its own
  std::shared_ptr<const core::Terms> terms_;
};

}  // namespace mortise
