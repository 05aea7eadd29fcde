// SPDX-License-Identifier: MIT
// Sleeps on the word in the file and on the operation's own word at once, where the kernel can.
#include "file/wake_word.hpp"

#include "file/header.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

namespace mortise::file {
namespace {

using std::chrono::nanoseconds;

// "Add 2; and if the old value was 1, wake sleepers of a second word as well", which it never was:
// the word is even. The kernel wakes at least one sleeper where the comparison holds, whatever
// number it is given, so the comparison must fail.
constexpr std::uint32_t add_step = FUTEX_OP(FUTEX_OP_ADD, WakeWord::step, FUTEX_OP_CMP_EQ, 1U);

timespec to_timespec(nanoseconds time) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {.tv_sec = static_cast<time_t>(seconds.count()),
          .tv_nsec = static_cast<long>((time - seconds).count())};
}

// futex_waitv takes a moment, not a duration.
timespec monotonic_after(nanoseconds at_most) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return to_timespec(std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec) + at_most);
}

futex_waitv waiter(const void* word, std::uint32_t seen, std::uint32_t flags) noexcept {
  futex_waitv out{};
  out.val = seen;
  out.uaddr = reinterpret_cast<std::uintptr_t>(word);
  out.flags = FUTEX_32 | flags;
  return out;
}

Woken why(int error) noexcept {
  if (error == EAGAIN) return Woken::by_change;
  return error == EFAULT ? Woken::truncated : Woken::by_time;
}

}  // namespace

int WakeWord::map(int fd) noexcept {
  void* page = ::mmap(nullptr, file_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return errno;
  page_ = page;
  word_ = static_cast<char*>(page) + word_offset;
  return 0;
}

WakeWord::~WakeWord() {
  if (page_ != nullptr) ::munmap(page_, file_size);
}

bool WakeWord::can_sleep_on_both() noexcept {
  // No words at all are an invalid argument to a kernel that knows the call. Containers' filters
  // answer EPERM to what they do not know.
  // Asked by two threads it has one answer. A lock around the first time might be left locked in a
  // forked child.
  enum class Answer : std::uint8_t { unknown, no, yes };
  static constinit std::atomic<Answer> known{Answer::unknown};
  Answer answer = known.load();
  if (answer == Answer::unknown) {
    const bool can = ::syscall(SYS_futex_waitv, nullptr, 0U, 0U, nullptr, CLOCK_MONOTONIC) != 0 &&
                     errno == EINVAL;
    answer = can ? Answer::yes : Answer::no;
    known.store(answer);
  }
  return answer == Answer::yes;
}

int WakeWord::bump_and_wake(int count) const noexcept {
  const long woken = ::syscall(SYS_futex, word_, FUTEX_WAKE_OP, count, 0UL, word_, add_step);
  // EFAULT: the file was truncated under us. Sleepers find out at their next re-check.
  return woken > 0 ? static_cast<int>(woken) : 0;
}

void WakeWord::wake(int count) const noexcept {
  ::syscall(SYS_futex, word_, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

Woken WakeWord::sleep(std::uint32_t seen, const std::atomic<std::uint32_t>& signal,
                      std::uint32_t seen_signal, nanoseconds at_most,
                      Sleeping sleeping) const noexcept {
  at_most = std::clamp<nanoseconds>(at_most, nanoseconds(0), std::chrono::hours(24));
  if (sleeping == Sleeping::in_slices) {
    return sleep_in_slices(seen, signal, seen_signal, at_most);
  }
  // The kernel answers the last of the words that were woken. With the file's word there, no
  // wake-up of a release is taken unnoticed when the other word is woken at the same moment.
  futex_waitv words[2] = {waiter(&signal, seen_signal, FUTEX_PRIVATE_FLAG), waiter(word_, seen, 0)};
  const timespec until = monotonic_after(at_most);
  const long index = ::syscall(SYS_futex_waitv, words, 2U, 0U, &until, CLOCK_MONOTONIC);
  if (index == 1) return Woken::by_release;
  if (index == 0) return Woken::by_change;
  return why(errno);
}

Woken WakeWord::sleep_in_slices(std::uint32_t seen, const std::atomic<std::uint32_t>& signal,
                                std::uint32_t seen_signal, nanoseconds at_most) const noexcept {
  constexpr nanoseconds longest = std::chrono::milliseconds(5);
  // Each slice ends late, by the slack of this thread's timers at least: they must not add up.
  const auto until = std::chrono::steady_clock::now() + at_most;
  for (nanoseconds left = at_most; left > nanoseconds(0);
       left = until - std::chrono::steady_clock::now()) {
    if (signal.load() != seen_signal) return Woken::by_change;
    const timespec limit = to_timespec(std::min(left, longest));
    if (::syscall(SYS_futex, word_, FUTEX_WAIT, seen, &limit, nullptr, 0) == 0) {
      return Woken::by_release;
    }
    if (errno != ETIMEDOUT) return why(errno);
  }
  return Woken::by_time;
}

}  // namespace mortise::file
