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

/// The standard output and error of the command; -1: those of the tool.
struct Outputs {
  int out = -1;
  int err = -1;
};

class Command {
 public:
  /// Forks. The child waits for `begin()`, and ends by itself if this process dies first.
  /// @param words the program and its arguments
  /// @param added variables for the environment, "NAME=value"
  /// @param mask the signal mask of the command
  Command(const std::vector<std::string>& words, const std::vector<std::string>& added,
          const Outputs& outputs, const sigset_t& mask);
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void begin() noexcept;
  /// Sends a signal to the command, even if it has ended, and to the rest of its group.
  void signal(int number) const noexcept;

 private:
  Descriptor go_;
  pid_t pid_ = -1;
};

/// Sends a signal to a group that a child of the calling process leads or led. The kernel sends it
/// to the whole group at once, so no process escapes with a fork(). Sends nothing if the group may
/// have ended, because its number may then belong to another group. A group has not ended while a
/// member is a child of this process, alive or not reaped.
/// @return whether the signal was sent
bool signal_group(pid_t group, int number) noexcept;

}  // namespace mortise::tool
