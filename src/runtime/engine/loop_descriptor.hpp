// SPDX-License-Identifier: MIT
// One descriptor that is readable when one of several others has something: for the event loop of a
// program.
#pragma once

#include "base/unique_fd.hpp"

#include <poll.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace mortise::runtime {

/// @thread_safety `watch()` by one thread at a time.
class LoopDescriptor {
 public:
  /// @param always are watched for input from now on; -1 = there is none. Throws
  /// `std::system_error`
  explicit LoopDescriptor(std::span<const int> always);
  [[nodiscard]] int get() const noexcept { return epoll_.get(); }
  /// Watches these as well, and none of those before. Throws `std::system_error`.
  void watch(std::span<const pollfd> fds);
  /// @return whether one of them has something. Does not block.
  [[nodiscard]] bool is_readable() const noexcept;

 private:
  void set(int fd, std::uint32_t events);

  base::UniqueFd epoll_;
  std::vector<int> watched_;
};

}  // namespace mortise::runtime
