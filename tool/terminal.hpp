// SPDX-License-Identifier: MIT
// The terminal of the session: which process group has it, as a shell's job control wants it.
#pragma once

#include "descriptor.hpp"

#include <sys/types.h>

namespace mortise::tool {

/// SIGTTOU must be blocked in whoever gives: it is not in the foreground any more then.
class Terminal {
 public:
  Terminal() noexcept;  ///< of the calling process; there may be none
  [[nodiscard]] bool there() const noexcept { return fd_.get() >= 0; }
  /// To `group`, where the calling process has it. @return whether that has it now
  bool give(pid_t group) const noexcept;
  /// Back, where `group` has it.
  void take_back(pid_t group) const noexcept;

 private:
  Descriptor fd_;
};

}  // namespace mortise::tool
