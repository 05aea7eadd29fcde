// SPDX-License-Identifier: MIT
// The signals of a run. They are blocked everywhere and read from a descriptor, so one place
// handles each signal, and no signal interrupts a call.
#pragma once

#include "descriptor.hpp"

#include <csignal>

namespace mortise::tool {

/// Blocks the signals, and keeps the mask from before. Signals that were ignored at the start
/// (nohup) stay ignored.
class Signals {
 public:
  Signals();
  /// @return the mask from before, which the command gets.
  [[nodiscard]] const sigset_t& before() const noexcept { return before_; }
  /// @return a descriptor from which only these signals are read.
  [[nodiscard]] static Descriptor descriptor(const sigset_t& of);
  /// @return the signals that the front reads: those that it forwards, and those of job control.
  [[nodiscard]] const sigset_t& handled() const noexcept { return handled_; }

 private:
  sigset_t before_{};
  sigset_t handled_{};
};

/// @return the next pending signal; 0: none.
[[nodiscard]] int next_signal(int descriptor) noexcept;

/// @return whether this signal ends a tool that still waits for the lock.
[[nodiscard]] constexpr bool ends_wait(int number) noexcept {
  return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

}  // namespace mortise::tool
