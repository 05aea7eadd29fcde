// SPDX-License-Identifier: MIT
// A descriptor is made and noted for a forked child in one step.
#include "base/unique_fd.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace mortise::base {

UniqueFd::UniqueFd(int fd) noexcept : fd_(fd), generation_(fork_generation()) {
  if (fd_ < 0 || close_in_child(fd_)) return;
  // A child would keep it for ever.
  ::close(std::exchange(fd_, -1));
  errno = ENOMEM;
}

UniqueFd::UniqueFd(UniqueFd&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), generation_(other.generation_) {}

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
    generation_ = other.generation_;
  }
  return *this;
}

void UniqueFd::reset() noexcept {
  const int fd = std::exchange(fd_, -1);
  // In a child the number was closed by the handler and may belong to somebody else by now.
  if (fd < 0 || generation_ != fork_generation()) return;
  const NoFork guard;
  keep_in_child(fd);
  ::close(fd);
}

BorrowedFd::BorrowedFd(int fd) noexcept : socket_(identity_of(fd)), generation_(fork_generation()) {
  if (socket_.fd >= 0) close_in_child(socket_);
}

BorrowedFd::BorrowedFd(BorrowedFd&& other) noexcept
    : socket_(std::exchange(other.socket_, {})), generation_(other.generation_) {}

BorrowedFd& BorrowedFd::operator=(BorrowedFd&& other) noexcept {
  if (this != &other) {
    reset();
    socket_ = std::exchange(other.socket_, {});
    generation_ = other.generation_;
  }
  return *this;
}

void BorrowedFd::reset() noexcept {
  const SocketIdentity socket = std::exchange(socket_, {});
  if (socket.fd < 0 || generation_ != fork_generation()) return;
  const NoFork guard;
  keep_in_child(socket);
}

}  // namespace mortise::base
