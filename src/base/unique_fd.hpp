// SPDX-License-Identifier: MIT
// Descriptors that a forked child does not keep.
#pragma once

#include "base/fork.hpp"

#include <cstdint>

namespace mortise::base {

/// A descriptor of the library: closed by the destructor, and in the child right after a fork.
class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  UniqueFd(UniqueFd&& other) noexcept;
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { reset(); }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset() noexcept;

  /// Runs `make`, which returns a descriptor or -1 (errno is kept), with no fork in between.
  template <class Make>
  [[nodiscard]] static UniqueFd open(Make make) {
    const NoFork guard;
    return UniqueFd(make());
  }

 private:
  /// Must be called under `NoFork`.
  explicit UniqueFd(int fd) noexcept;

  int fd_ = -1;
  std::uint32_t generation_ = 0;
};

/// A socket that a C library makes and closes for us: closed in the child right after a fork, too,
/// if it is still the same one by then, since the C library may have closed it without a word.
class BorrowedFd {
 public:
  BorrowedFd() noexcept = default;
  BorrowedFd(BorrowedFd&& other) noexcept;
  BorrowedFd& operator=(BorrowedFd&& other) noexcept;
  ~BorrowedFd() { reset(); }
  void reset() noexcept;

  /// Runs `make`, which returns a descriptor or -1, with no fork in between. Throws
  /// `std::bad_alloc` before that.
  template <class Make>
  [[nodiscard]] static BorrowedFd open(Make make) {
    const NoFork guard;
    expect_socket();
    return BorrowedFd(make());
  }

 private:
  /// Must be called under `NoFork`.
  explicit BorrowedFd(int fd) noexcept;

  SocketIdentity socket_{};
  std::uint32_t generation_ = 0;
};

}  // namespace mortise::base
