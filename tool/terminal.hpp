// SPDX-License-Identifier: MIT
// The terminal of the session. As in a shell's job control, one process group has it.
#pragma once

#include "descriptor.hpp"

#include <sys/types.h>

namespace mortise::tool {

/// The caller must block SIGTTOU, because it is no longer in the foreground after `give()`.
class Terminal {
 public:
  Terminal() noexcept;  ///< of the calling process; there may be none
  [[nodiscard]] bool there() const noexcept { return fd_.get() >= 0; }
  /// Gives the terminal to `group` if the calling process has it. @return whether `group` has it
  /// now
  bool give(pid_t group) const noexcept;
  /// Takes the terminal back if `group` has it.
  void take_back(pid_t group) const noexcept;

 private:
  Descriptor fd_;
};

}  // namespace mortise::tool
