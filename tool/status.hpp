// SPDX-License-Identifier: MIT
// What the program exits with: the command's own status, or one of sysexits.h, whose meaning the
// manual page tells.
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
  bad_data = 65,       ///< the key is remembered with another fingerprint; a result is too long
  unavailable = 69,    ///< the store could not be reached, or did not answer
  internal = 70,       ///< the store holds what is not ours, or the tool itself failed
  exhausted = 71,      ///< no room, memory, processes or descriptors
  unwritten = 74,      ///< nobody took what was printed
  busy = 75,           ///< somebody else holds it, and the wait is over
  hold_lost = 76,      ///< the hold was lost, and the command was ended
  denied = 77,         ///< a right or a credential was refused
  misconfigured = 78,  ///< URL, name, option or store cannot work; the backend lacks the feature
  not_executable = 126,
  not_found = 127,
  by_signal = 128,  ///< + the signal's number
};

/// @return the status for a failure.
[[nodiscard]] int status_of(const std::error_code& code) noexcept;

/// Prints what went wrong, and what to do about it. @return the status for it
int fail(const std::exception& error) noexcept;
int fail(const std::error_code& code, std::string_view words) noexcept;

/// Prints on standard error what went wrong, and in a line of its own what to do about it. Each
/// line begins with the program's name; control characters are escaped.
void complain(std::string_view words, std::string_view advice = {}) noexcept;

/// @return the status of a wait(), as a shell has it.
[[nodiscard]] int shell_status(int wait_status) noexcept;

}  // namespace mortise::tool
