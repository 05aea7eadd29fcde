// SPDX-License-Identifier: MIT
// What happens to the library in a forked child: it is out, and every descriptor of it is closed,
// so that the child keeps no lock and no subscription alive.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace mortise::base {

/// @return a number that is different in a forked child (made by fork(), not by vfork or clone,
/// whose children must not use the library at all). Compare it before touching a mutex: in the
/// child a mutex may be locked by a thread that does not exist there.
[[nodiscard]] std::uint32_t fork_generation() noexcept;

/// As long as it lives no thread forks: a descriptor made just before a fork in another thread
/// would stay open in the child for ever.
class NoFork {
 public:
  NoFork() noexcept;
  ~NoFork();
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;
};

/// A child closes that descriptor right after a fork. Under `NoFork`.
/// @return false: there is no memory to note it
[[nodiscard]] bool close_in_child(int fd) noexcept;
/// It does not any more. Under `NoFork`.
void keep_in_child(int fd) noexcept;

/// A socket of which somebody else may make another one at any time: a number alone would lead to
/// whatever has it by then.
struct SocketIdentity {
  int fd = -1;
  ino_t inode = 0;  ///< 0: it is none
  bool operator==(const SocketIdentity&) const = default;
};
[[nodiscard]] SocketIdentity identity_of(int fd) noexcept;

/// Makes room for one more socket: what somebody else has made cannot be taken back. Throws
/// `std::bad_alloc`. Under `NoFork`.
void expect_socket();
/// A child closes that socket right after a fork, if it is still the same one; after
/// `expect_socket()`. Under `NoFork`.
void close_in_child(const SocketIdentity& socket) noexcept;
/// It does not any more; where that was said twice, once less. Under `NoFork`.
void keep_in_child(const SocketIdentity& socket) noexcept;

}  // namespace mortise::base
