// SPDX-License-Identifier: MIT
// Descriptors that a forked child does not keep.
#pragma once

#include "base/fork.hpp"

#include <cstdint>

namespace mortise::base {

/// Takes those of the numbers 0 to 2 that are free, while a descriptor is made.
class StandardNumbers {
 public:
  StandardNumbers() noexcept;
  StandardNumbers(const StandardNumbers&) = delete;
  StandardNumbers& operator=(const StandardNumbers&) = delete;
  ~StandardNumbers();

 private:
  int taken_[3] = {-1, -1, -1};
};

/// A descriptor of the library: closed by the destructor, and in the child right after a fork. Its
/// number is 3 or higher, even if the program was started with 0, 1 or 2 closed: what the program
/// prints would go into it.
class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  UniqueFd(UniqueFd&& other) noexcept;
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { reset(); }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset() noexcept;

  /// Runs `make`, which returns a descriptor or -1 (errno is kept), with no fork in between. It
  /// may return one that somebody else has made, whose number is replaced then: ask `get()` for it.
  template <class Make>
  [[nodiscard]] static UniqueFd open(Make make) {
    const NoFork guard;
    const StandardNumbers taken;
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
    const StandardNumbers taken;
    return BorrowedFd(make());
  }

 private:
  /// Must be called under `NoFork`.
  explicit BorrowedFd(int fd) noexcept;

  SocketIdentity socket_{};
  std::uint32_t generation_ = 0;
};

}  // namespace mortise::base
