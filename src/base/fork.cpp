// SPDX-License-Identifier: MIT
// The registry of the library's descriptors and the handlers around fork(). It is the one place of
// process-wide state: pthread_atfork handlers can not be taken back and carry no argument.
#include "base/fork.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

namespace mortise::base {
namespace {

std::atomic<std::uint32_t> generation{1};

struct Registry {
  std::mutex mutex;
  std::vector<bool> ours;  // by descriptor number

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
  self.ours.assign(self.ours.size(), false);
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

UniqueFd::NoFork::NoFork() noexcept { registry().mutex.lock(); }

UniqueFd::NoFork::~NoFork() {
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

}  // namespace mortise::base
