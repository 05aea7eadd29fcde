// SPDX-License-Identifier: MIT
// Who re-enters a lock: a thread by default, or anything the program says.
#pragma once

#include <mortise/export.hpp>

#include <compare>
#include <cstdint>

namespace mortise {

/// Identifies who holds a lock inside this process. A value; copy it freely.
///
/// The default, `this_thread()`, makes a `Lock` behave as `std::recursive_timed_mutex`. Its number
/// is drawn once per thread and never used again, so that a new thread cannot inherit the holds of
/// one that ended, as it could with a reused thread id. Coroutines, thread pools and hand-over
/// between threads make one with `unique()` and pass it along.
/// @thread_safety all members may be called concurrently.
class MORTISE_API Owner {
 public:
  /// No owner in particular: where an owner is asked for, this means the calling thread.
  constexpr Owner() noexcept = default;
  /// @return the calling thread.
  [[nodiscard]] static Owner this_thread() noexcept;
  /// @return an owner that equals no other of this process.
  [[nodiscard]] static Owner unique() noexcept;
  /// @return the process-unique number; 0 for `Owner()`.
  [[nodiscard]] constexpr std::uint64_t id() const noexcept { return id_; }
  /// @return this owner, or the calling thread where none is set.
  [[nodiscard]] Owner or_this_thread() const noexcept { return id_ != 0 ? *this : this_thread(); }
  friend constexpr auto operator<=>(Owner, Owner) noexcept = default;

 private:
  constexpr explicit Owner(std::uint64_t id) noexcept : id_(id) {}
  std::uint64_t id_ = 0;
};

}  // namespace mortise
