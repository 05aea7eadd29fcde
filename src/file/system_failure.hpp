// SPDX-License-Identifier: MIT
// Turns the errors of system calls into the library's own, with words that name the culprit.
#pragma once

#include <mortise/error.hpp>

#include <string>

namespace mortise::file {

/// @param error an errno
/// @param path the file or directory that it is about
/// @param doing what was tried: "create", "lock"
[[nodiscard]] Failure system_failure(int error, const std::string& path, const char* doing);

}  // namespace mortise::file
