// SPDX-License-Identifier: MIT
// inotify on the directory, started with the first hold.
#include "file/watch.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <thread>

namespace mortise::file {
namespace {

// None of these happens in the normal life of a lock file, so that locking wakes nobody.
constexpr std::uint32_t file_events = IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::uint32_t directory_events = IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t watch_ended = directory_events | IN_UNMOUNT | IN_IGNORED;

// Limits of inotify (instances a user, watches) may ease.
constexpr std::chrono::nanoseconds retry_after = std::chrono::seconds(1);

// All events that are there. @return the union of their masks
std::uint32_t drain(int fd) noexcept {
  alignas(inotify_event) char buffer[4096];
  std::uint32_t seen = 0;
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return seen;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event event{};
      std::memcpy(&event, buffer + at, sizeof event);
      seen |= event.mask;
      at += sizeof event + event.len;
    }
  }
}

}  // namespace

short Watch::interest() const noexcept { return POLLIN; }

bool Watch::arm(Host& host) noexcept {
  if (state_.load(std::memory_order_acquire) != State::idle) return false;
  const Instant now = BootClock::now();
  if (now.time_since_epoch().count() < retry_at_.load()) return false;
  State expected = State::idle;
  if (!state_.compare_exchange_strong(expected, State::arming)) return false;
  const bool added = add(host);
  if (!added) retry_at_.store((now + retry_after).time_since_epoch().count());
  state_.store(added ? State::armed : State::idle, std::memory_order_release);
  return added;
}

bool Watch::add(Host& host) noexcept try {
  if (!fd_) fd_ = base::UniqueFd::open([] { return ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK); });
  if (!fd_) return false;
  // The same directory twice is the same watch; one that was replaced is another.
  const std::uint32_t mask = file_events | directory_events | IN_ONLYDIR | IN_DONT_FOLLOW;
  if (::inotify_add_watch(fd_.get(), directory_.c_str(), mask) < 0) return false;
  if (attached_) return true;
  attached_ = true;
  host.attach(*this);
  return true;
} catch (const std::exception&) {
  // The thread that would poll could not be started.
  if (std::exchange(attached_, false)) host.detach(*this);
  return false;
}

void Watch::ready(short /*events*/, Instant /*now*/) {
  const std::uint32_t seen = drain(fd_.get());
  if ((seen & watch_ended) != 0) {
    // The next grant watches whatever is at the path then.
    State expected = State::armed;
    state_.compare_exchange_strong(expected, State::idle);
  }
  if (seen != 0) changed_();
}

void Watch::stop(Host& host) noexcept {
  // Whoever is arming is in two system calls, not in a wait.
  State expected = State::idle;
  while (!state_.compare_exchange_weak(expected, State::stopped)) {
    if (expected == State::stopped) return;
    if (expected == State::arming) {
      std::this_thread::yield();
      expected = State::idle;
    }
  }
  if (attached_) host.detach(*this);
  attached_ = false;
  fd_.reset();
}

}  // namespace mortise::file
