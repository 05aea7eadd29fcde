// SPDX-License-Identifier: MIT
// The registry of the library's descriptors and the handlers around fork(). It is the one place of
// process-wide state: pthread_atfork handlers can not be taken back and carry no argument.
#include "base/fork.hpp"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

namespace mortise::base {
namespace {

std::atomic<std::uint32_t> generation{1};

/// A number alone would lead to whatever has it by now.
struct Socket {
  int fd = -1;
  ino_t inode = 0;
  bool operator==(const Socket&) const = default;
};

ino_t inode_of(int fd) noexcept {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

struct Registry {
  std::mutex mutex;
  std::vector<bool> ours;  // by descriptor number
  std::vector<Socket> borrowed;

  Registry() { ::pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child); }

  void set(int fd, bool value) {
    const auto index = static_cast<std::size_t>(fd);
    if (index >= ours.size()) ours.resize(index + 1);
    ours[index] = value;
  }

  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();
};

// Never destroyed: a fork during exit() must still find it.
Registry& registry() {
  static auto& instance = *new Registry;
  return instance;
}

// The mutex is held across the fork, so that the child sees a whole registry.
void Registry::before_fork() { registry().mutex.lock(); }
void Registry::after_fork_in_parent() { registry().mutex.unlock(); }

void Registry::after_fork_in_child() {
  Registry& self = registry();
  for (std::size_t fd = 0; fd < self.ours.size(); ++fd) {
    if (self.ours[fd]) ::close(static_cast<int>(fd));
  }
  for (const Socket& socket : self.borrowed) {
    if (inode_of(socket.fd) == socket.inode) ::close(socket.fd);
  }
  self.ours.assign(self.ours.size(), false);
  self.borrowed.clear();
  generation.fetch_add(1);
  self.mutex.unlock();
}

// Registers the handlers when the library is loaded: a client made later could otherwise race with
// a fork that has already passed the point where handlers are collected.
const bool registered = (registry(), true);

}  // namespace

std::uint32_t fork_generation() noexcept {
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

NoFork::NoFork() noexcept { registry().mutex.lock(); }

NoFork::~NoFork() {
  const int kept = errno;
  registry().mutex.unlock();
  errno = kept;
}

UniqueFd::UniqueFd(int fd) noexcept : fd_(fd), generation_(fork_generation()) {
  if (fd_ >= 0) registry().set(fd_, true);
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
  registry().set(fd, false);
  ::close(fd);
}

BorrowedFd::BorrowedFd(int fd) noexcept
    : fd_(fd), inode_(fd >= 0 ? inode_of(fd) : 0), generation_(fork_generation()) {
  if (inode_ == 0) fd_ = -1;
  if (fd_ >= 0) registry().borrowed.push_back({fd_, inode_});
}

BorrowedFd::BorrowedFd(BorrowedFd&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), inode_(other.inode_), generation_(other.generation_) {}

BorrowedFd& BorrowedFd::operator=(BorrowedFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
    inode_ = other.inode_;
    generation_ = other.generation_;
  }
  return *this;
}

void BorrowedFd::reset() noexcept {
  const int fd = std::exchange(fd_, -1);
  if (fd < 0 || generation_ != fork_generation()) return;
  const NoFork guard;
  std::vector<Socket>& all = registry().borrowed;
  // The same socket may be there twice, while it is registered anew.
  const auto found = std::find(all.begin(), all.end(), Socket{fd, inode_});
  if (found != all.end()) all.erase(found);
}

}  // namespace mortise::base
