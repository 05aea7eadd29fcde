// SPDX-License-Identifier: MIT
// A descriptor is made and noted for a forked child in one step.
#include "base/unique_fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace mortise::base {
namespace {

/// Moves a descriptor that stands where a program expects its standard input, output or error.
int above_standard(int fd) noexcept {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(fd);
  errno = error;
  return moved;
}

bool is_open(int fd) noexcept { return ::fcntl(fd, F_GETFD) >= 0; }

}  // namespace

UniqueFd::UniqueFd(int fd) noexcept : fd_(above_standard(fd)), generation_(fork_generation()) {
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

StandardNumbers::StandardNumbers() noexcept {
  if (is_open(STDIN_FILENO) && is_open(STDOUT_FILENO) && is_open(STDERR_FILENO)) return;
  const int kept = errno;
  for (int& each : taken_) {
    // Reads and writes fail with EBADF, as they do where nothing is open.
    each = ::open("/", O_PATH | O_CLOEXEC);
    if (each <= STDERR_FILENO) continue;
    ::close(std::exchange(each, -1));  // another thread has taken the last one
    break;
  }
  errno = kept;
}

StandardNumbers::~StandardNumbers() {
  const int kept = errno;  // of what was made in between
  for (const int each : taken_) {
    if (each >= 0) ::close(each);
  }
  errno = kept;
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
