// SPDX-License-Identifier: MIT
// The signals of a run: blocked everywhere, read from a descriptor, so that each is handled in one
// place and none can interrupt anything.
#pragma once

#include "descriptor.hpp"

#include <csignal>

namespace mortise::tool {

/// Blocks them, and knows how it was before. What was ignored at the start (nohup) stays so.
class Signals {
 public:
  Signals();
  /// @return the mask of before: the command's.
  [[nodiscard]] const sigset_t& before() const noexcept { return before_; }
  /// @return a descriptor that tells of these signals alone.
  [[nodiscard]] static Descriptor descriptor(const sigset_t& of);
  /// @return what the front reads: what it forwards, and what the shell's job control sends.
  [[nodiscard]] const sigset_t& handled() const noexcept { return handled_; }

 private:
  sigset_t before_{};
  sigset_t handled_{};
};

/// @return the next one that is there; 0: none.
[[nodiscard]] int next_signal(int descriptor) noexcept;

/// @return whether it ends a tool that still waits for the lock.
[[nodiscard]] constexpr bool ends_wait(int number) noexcept {
  return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

}  // namespace mortise::tool
