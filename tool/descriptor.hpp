// SPDX-License-Identifier: MIT
// A descriptor that is closed with its object. An exec() closes all of them.
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

/// @return the result of a system call that succeeded.
/// @throws std::system_error with the name of the call if it failed
inline int must(int result, const char* call) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), call);
  return result;
}

/// Opens a placeholder for each standard descriptor that the caller has closed. The placeholder can
/// neither be read nor written. Without it, the next file or connection that is opened would become
/// standard output, and would receive the tool's text. The command finds the descriptors closed.
inline void occupy_standard_descriptors() {
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(each, F_GETFD) >= 0) continue;
    const int flags = each == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    must(::open("/dev/null", flags | O_CLOEXEC), "/dev/null");  // gets the lowest free number
  }
}

}  // namespace mortise::tool
