// SPDX-License-Identifier: MIT
// The two futex calls that the library makes, with relative time limits.
#include "base/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace mortise::base {
namespace {

// The kernel wants the plain word; std::atomic<uint32_t> is one, lock-free and of the same size.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                std::chrono::nanoseconds at_most) noexcept {
  if (at_most <= std::chrono::nanoseconds(0)) return;
  // A day at most: callers loop, and the kernel refuses values that overflow its own arithmetic.
  const auto bounded = std::min<std::chrono::nanoseconds>(at_most, std::chrono::hours(24));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(bounded);
  const timespec limit{.tv_sec = static_cast<time_t>(seconds.count()),
                       .tv_nsec = static_cast<long>((bounded - seconds).count())};
  // Whatever it returns (the word had changed, a signal, the time) the caller looks at the word
  // again.
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &limit, nullptr, 0);
}

void futex_wake(const std::atomic<std::uint32_t>& word, int count) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace mortise::base
