// SPDX-License-Identifier: MIT
// The kernel forgets a descriptor that was closed, and another one may have its number at once. So
// each is set anew each time.
#include "runtime/engine/loop_descriptor.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

namespace mortise::runtime {

static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLPRI == POLLPRI);

LoopDescriptor::LoopDescriptor(std::span<const int> always)
    : epoll_(base::UniqueFd::open([] { return ::epoll_create1(EPOLL_CLOEXEC); })) {
  if (!epoll_) throw std::system_error(errno, std::system_category(), "epoll_create1");
  for (const int fd : always) {
    if (fd >= 0) set(fd, EPOLLIN);
  }
}

void LoopDescriptor::set(int fd, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0) return;
  if (errno == ENOENT && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return;
  // Closed meanwhile by another thread, which reports the change of its source.
  if (errno != EBADF) throw std::system_error(errno, std::system_category(), "epoll_ctl");
}

void LoopDescriptor::watch(std::span<const pollfd> fds) {
  // Memory first, and a descriptor is listed before it is watched: whatever fails, the next call
  // finds each one that is watched.
  watched_.reserve(watched_.size() + fds.size());
  std::erase_if(watched_, [&](int before) {
    const auto same = [before](const pollfd& each) { return each.fd == before; };
    if (std::any_of(fds.begin(), fds.end(), same)) return false;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, before, nullptr);  // the kernel has, if it was closed
    return true;
  });
  for (const pollfd& each : fds) {
    if (each.fd < 0) continue;
    const bool listed = std::find(watched_.begin(), watched_.end(), each.fd) != watched_.end();
    if (!listed) watched_.push_back(each.fd);
    set(each.fd, static_cast<std::uint16_t>(each.events));
  }
}

bool LoopDescriptor::is_readable() const noexcept {
  epoll_event event{};
  return ::epoll_wait(epoll_.get(), &event, 1, 0) > 0;
}

}  // namespace mortise::runtime
