// SPDX-License-Identifier: MIT
// The exit statuses: the command's own status, or one of sysexits.h. The manual page explains them.
#pragma once

#include <mortise/error.hpp>

#include <exception>
#include <string_view>

namespace mortise::tool {

/// The statuses of the tool itself.
enum Status : int {
  done = 0,
  nothing_there = 1,   ///< `holder` of a free name, `release` of nothing, a recorded failure
  usage = 64,          ///< the arguments make no sense
  bad_data = 65,       ///< the key is remembered with a different fingerprint; a result is too long
  unavailable = 69,    ///< the store could not be reached, or did not answer
  internal = 70,       ///< the store contains data of another program, or the tool itself failed
  exhausted = 71,      ///< no space, memory, processes or descriptors
  unwritten = 74,      ///< standard output did not accept the output
  busy = 75,           ///< another client holds it, and the wait is over
  hold_lost = 76,      ///< the hold was lost, and the command was ended
  denied = 77,         ///< a permission or a credential was refused
  misconfigured = 78,  ///< URL, name, option or store cannot work; the backend lacks the feature
  not_executable = 126,
  not_found = 127,
  by_signal = 128,  ///< plus the number of the signal
};

/// @return the status for a failure.
[[nodiscard]] int status_of(const std::error_code& code) noexcept;

/// Prints the failure and the advice for it. @return the exit status
int fail(const std::exception& error) noexcept;
int fail(const std::error_code& code, std::string_view words) noexcept;

/// Prints two lines on standard error: what happened, and what to do. Each line begins with the
/// program's name. Control characters are escaped.
void complain(std::string_view words, std::string_view advice = {}) noexcept;

/// @return the status of a wait(), as a shell has it.
[[nodiscard]] int shell_status(int wait_status) noexcept;

}  // namespace mortise::tool
