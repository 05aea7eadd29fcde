// SPDX-License-Identifier: MIT
// The exit statuses: the status of the program, or a status of sysexits.h. See the manual page.
#pragma once

#include <mortise/error.hpp>

#include <exception>
#include <string_view>

namespace mortise::tool {

/// The statuses of the tool itself.
enum Status : int {
  done = 0,
  nothing_there = 1,   ///< `holder`, `look`, `release`: nothing was found; `once`: a failure
  usage = 64,          ///< the arguments are invalid, or no store is given
  bad_data = 65,       ///< a different fingerprint is recorded, or the output is too long
  unavailable = 69,    ///< the store could not be reached, or the outcome is unknown
  internal = 70,       ///< the store contains data of another program, or the tool failed
  exhausted = 71,      ///< no space, descriptors, memory or processes are left
  unwritten = 74,      ///< standard output did not accept the output
  busy = 75,           ///< the wait ended while another client held the lock or ran the key
  hold_lost = 76,      ///< the hold was lost or not renewed, and the tool ended the program
  denied = 77,         ///< the store refused a permission, a credential or a certificate
  misconfigured = 78,  ///< the URL, the name, an option or the store is wrong; no such feature
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
