// SPDX-License-Identifier: MIT
// A descriptor that is closed with its object; all of them are closed by an exec(), too.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace mortise::tool {

class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  [[nodiscard]] int get() const noexcept { return fd_; }
  void reset() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

/// @return what a system call returned, where it did not fail.
/// @throws std::system_error with its name, where it did
inline int must(int result, const char* call) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), call);
  return result;
}

/// Those that the caller has closed get something in their place that can neither be read nor
/// written: else the next thing that is opened, such as a connection or the file of a lock, becomes
/// standard output, and is written what was meant for a person. The command finds them closed.
inline void occupy_standard_descriptors() {
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(each, F_GETFD) >= 0) continue;
    const int flags = each == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    must(::open("/dev/null", flags | O_CLOEXEC), "/dev/null");  // the lowest that is free: this one
  }
}

}  // namespace mortise::tool
