// SPDX-License-Identifier: MIT
// The word in a lock file on which waiters of all processes sleep. Only the kernel looks at the
// mapping: a system call on a truncated file answers EFAULT where a read would kill the process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace mortise::file {

/// How a waiter sleeps on two words at once.
enum class Sleeping : std::uint8_t {
  /// futex_waitv (Linux 5.16).
  on_both,
  /// On the file's word, for 5 ms at a time, and a look at the other word in between. A release
  /// that
  /// falls in between is seen by its word, so that every waiter may try after it.
  in_slices,
};

/// Why a sleep ended.
enum class Woken : std::uint8_t {
  by_release,  ///< a wake-up was taken: it must be used (try the lock) or passed on (`wake()`)
  by_change,   ///< one of the words is, or became, another than the one seen
  by_time,     ///< the time is up, or a signal came
  truncated,   ///< the word is not there: somebody has truncated the file
};

/// @thread_safety every member may be called concurrently.
class WakeWord {
 public:
  /// Maps the file. @return errno, or 0
  [[nodiscard]] int map(int fd) noexcept;
  WakeWord() = default;
  WakeWord(const WakeWord&) = delete;
  WakeWord& operator=(const WakeWord&) = delete;
  ~WakeWord();

  /// By how much each release moves the word.
  static constexpr std::uint32_t step = 2;

  /// @return whether the kernel, and the filter around it, let one sleep on both.
  [[nodiscard]] static bool can_sleep_on_both() noexcept;

  /// Moves the word and wakes up to `count` sleepers of all processes, in one system call: a thread
  /// killed between the two would leave a sleeper behind. @return how many there were
  int bump_and_wake(int count) const noexcept;
  /// Passes on a wake-up that was taken for nothing.
  void wake(int count) const noexcept;
  /// Sleeps while the file's word is `seen` and `signal` is `seen_signal`.
  [[nodiscard]] Woken sleep(std::uint32_t seen, const std::atomic<std::uint32_t>& signal,
                            std::uint32_t seen_signal, std::chrono::nanoseconds at_most,
                            Sleeping sleeping) const noexcept;

 private:
  [[nodiscard]] Woken sleep_in_slices(std::uint32_t seen, const std::atomic<std::uint32_t>& signal,
                                      std::uint32_t seen_signal,
                                      std::chrono::nanoseconds at_most) const noexcept;

  void* page_ = nullptr;
  void* word_ = nullptr;
};

}  // namespace mortise::file
