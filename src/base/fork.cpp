// SPDX-License-Identifier: MIT
// The registry of the library's descriptors and the handlers around fork(). It is the one place of
// process-wide state: pthread_atfork handlers cannot be taken back and carry no argument.
#include "base/fork.hpp"

#include "base/handed_over.hpp"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>
#include <vector>

namespace mortise::base {
namespace {

std::atomic<std::uint32_t> generation{1};

struct Registry {
  std::mutex mutex;
  std::vector<bool> ours;  // by descriptor number
  std::vector<SocketIdentity> borrowed;

  Registry() { ::pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child); }

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
  for (const SocketIdentity& socket : self.borrowed) {
    if (identity_of(socket.fd) == socket) ::close(socket.fd);
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

bool close_in_child(int fd) noexcept {
  std::vector<bool>& ours = registry().ours;
  const auto index = static_cast<std::size_t>(fd);
  try {
    if (index >= ours.size()) ours.resize(index + 1);
  } catch (const std::bad_alloc&) {
    return false;
  }
  ours[index] = true;
  return true;
}

void keep_in_child(int fd) noexcept { registry().ours[static_cast<std::size_t>(fd)] = false; }

SocketIdentity identity_of(int fd) noexcept {
  struct stat status {};
  const bool is_socket = fd >= 0 && ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
  return is_socket ? SocketIdentity{fd, status.st_ino} : SocketIdentity{};
}

Whose whose(const SocketIdentity& socket) noexcept {
  const Registry& all = registry();
  const auto number = static_cast<std::size_t>(socket.fd);
  if (number < all.ours.size() && all.ours[number]) return Whose::ours;
  bool shared = false;
  for (const SocketIdentity& each : all.borrowed) {
    if (each.inode != socket.inode || identity_of(each.fd) != each) continue;
    if (each.fd == socket.fd) return Whose::ours;
    shared = true;
  }
  for (std::size_t fd = 0; fd < all.ours.size() && !shared; ++fd) {
    shared = all.ours[fd] && identity_of(static_cast<int>(fd)).inode == socket.inode;
  }
  return shared ? Whose::ours_too : Whose::nobodys;
}

void expect_socket() {
  std::vector<SocketIdentity>& all = registry().borrowed;
  if (all.size() == all.capacity()) all.reserve(2 * all.size() + 8);
}

void close_in_child(const SocketIdentity& socket) noexcept {
  registry().borrowed.push_back(socket);
}

void keep_in_child(const SocketIdentity& socket) noexcept {
  std::vector<SocketIdentity>& all = registry().borrowed;
  // The same socket may be there twice, while it is registered anew.
  const auto found = std::find(all.begin(), all.end(), socket);
  if (found != all.end()) all.erase(found);
}

}  // namespace mortise::base
