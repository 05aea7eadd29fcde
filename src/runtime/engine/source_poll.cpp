// SPDX-License-Identifier: MIT
// The sleep of those who poll, and of those who sleep on a futex, is counted by the kernel without
// the time of a suspend (CLOCK_MONOTONIC). Only the background thread's timer counts it; and the
// clock watch, which tells of the suspend itself, so that everybody looks at the clock again.
#include "runtime/engine/source_poll.hpp"

#include "base/inside_source.hpp"
#include "base/mutant.hpp"
#include "runtime/engine/reader_role.hpp"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace mortise::runtime {
namespace {

constexpr std::chrono::hours longest_sleep{24};

// Far away; timers of the wall clock that are due never are not told of changes.
constexpr time_t far_future = 7'000'000'000;

void watch_clock(int timer) noexcept {
  itimerspec spec{};
  spec.it_value.tv_sec = far_future;
  ::timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &spec, nullptr);
}

void drain(int fd) noexcept {
  std::uint64_t count = 0;
  if (::read(fd, &count, sizeof count) < 0) return;  // EAGAIN: nothing to drain
}

base::UniqueFd make(const char* what, int (*create)()) {
  base::UniqueFd fd = base::UniqueFd::open(create);
  if (!fd) throw std::system_error(errno, std::system_category(), what);
  return fd;
}

timespec timespec_of(std::chrono::nanoseconds span) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span);
  return {.tv_sec = static_cast<time_t>(seconds.count()),
          .tv_nsec = static_cast<long>((span - seconds).count())};
}

}  // namespace

base::UniqueFd make_eventfd() {
  return make("eventfd", [] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
}

base::UniqueFd make_timer() {
  return make("timerfd",
              [] { return ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK); });
}

base::UniqueFd make_clock_watch() noexcept {
  base::UniqueFd watch = base::UniqueFd::open(
      [] { return ::timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK); });
  if (watch) watch_clock(watch.get());
  return watch;
}

void signal(int eventfd) noexcept {
  const std::uint64_t one = 1;
  if (::write(eventfd, &one, sizeof one) < 0) return;  // EAGAIN: signalled already
}

void arm(int timer, std::chrono::nanoseconds in) noexcept {
  itimerspec spec{};
  spec.it_value = timespec_of(
      std::clamp<std::chrono::nanoseconds>(in, std::chrono::nanoseconds(1), longest_sleep));
  ::timerfd_settime(timer, 0, &spec, nullptr);
}

bool SourcePoll::linger(base::TunedSource& source) {
  const base::InsideSource inside;
  return source.linger();
}

// A thread that is stopped after it has looked at the clock would sleep too long by that time, and
// holds would be over while nobody says so (S6). The timer counts from where it is set, whatever
// happens before the thread sleeps; so it is enough that it was set at once after the look.
std::chrono::nanoseconds SourcePoll::left_until(Instant until, int timer) const {
  constexpr std::chrono::milliseconds at_once{1};
  if (until == never) {
    if (timer >= 0) arm(timer, longest_sleep);
    return longest_sleep;
  }
  for (Instant now = clock_->now();;) {
    const auto left = std::max(until - now, std::chrono::nanoseconds(0));
    if (timer < 0 || left.count() == 0) return left;
    arm(timer, left);
    const Instant after = clock_->now();
    if (after - now < at_once || base::mutant("core.timer_set_late")) return left;
    now = after;
  }
}

std::chrono::nanoseconds SourcePoll::ask(std::span<Source* const> sources, std::span<pollfd> fds,
                                         const Look& look) {
  Instant until = look.until;
  // Before the sources are asked: what one of them changes while the next is asked is news.
  if (look.asleep_until != nullptr) look.asleep_until->store(never);
  {
    const std::lock_guard calling(calling_);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      until = std::min(until, sources[i]->due());
      fds[i] = {sources[i]->descriptor(), sources[i]->interest(), 0};
    }
  }
  if (look.asleep_until != nullptr) look.asleep_until->store(until);
  return left_until(until, look.timers[0]);
}

bool SourcePoll::once(std::span<Source* const> sources, const Look& look) {
  const std::array<int, 4> own{look.wake, look.timers[0], look.timers[1], look.clock_watch};
  const std::size_t first = look.timers[0] < 0 ? 1 : own.size();
  Few<pollfd, 12> polled;
  polled.resize(first + sources.size());
  const auto fds = polled.items();
  for (std::size_t i = 0; i < first; ++i) fds[i] = {.fd = own[i], .events = POLLIN, .revents = 0};
  const auto left = ask(sources, fds.subspan(first), look);
  const timespec limit = timespec_of(std::min<std::chrono::nanoseconds>(left, longest_sleep));
  ::ppoll(fds.data(), fds.size(), &limit, nullptr);
  // Awake: what completes the own operation from here on, this thread itself most of all, need not
  // say so through a descriptor that would only end the next poll too early.
  if (look.own != nullptr) look.own->nudge_through(-1);
  for (std::size_t i = 0; i < first; ++i) {
    if (fds[i].revents != 0) drain(fds[i].fd);
  }
  const bool clock_was_set = first == own.size() && fds[first - 1].revents != 0;
  if (clock_was_set) watch_clock(look.clock_watch);
  const Instant now = clock_->now();
  const std::lock_guard calling(calling_);
  const base::InsideSource inside;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const short events = fds[first + i].revents;
    // A source may have been detached by another source's ready() just now: its owner waits in
    // detach() until we leave, so the object is still there, and a late call does no harm.
    if (events != 0 || sources[i]->due() <= now) sources[i]->ready(events, now);
  }
  return clock_was_set;
}

}  // namespace mortise::runtime
