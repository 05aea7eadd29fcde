// SPDX-License-Identifier: MIT
// The command: a child in a process group of its own, which the kernel kills when the thread that
// started it dies.
#pragma once

#include "descriptor.hpp"

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace mortise::tool {

/// What the command's standard output and error are, where they are not the tool's.
struct Outputs {
  int out = -1;
  int err = -1;
};

class Command {
 public:
  /// Forks. The child waits for `begin()`, and ends by itself where that never comes.
  /// @param words the program and its arguments
  /// @param added to the environment, "NAME=value"
  /// @param mask the signal mask that it gets
  Command(const std::vector<std::string>& words, const std::vector<std::string>& added,
          const Outputs& outputs, const sigset_t& mask);
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void begin() noexcept;
  /// To the command, alive or not, and to what is left of its group.
  void signal(int number) const noexcept;

 private:
  Descriptor go_;
  pid_t pid_ = -1;
};

/// To a group that a child of the calling process leads, or led: to all of it at once, so that
/// nobody escapes by a fork(). Nothing is sent where it may have ended, since its number may be
/// somebody else's then: it has not as long as one of it is a child of ours, alive or not reaped.
/// @return whether it was sent
bool signal_group(pid_t group, int number) noexcept;

}  // namespace mortise::tool
