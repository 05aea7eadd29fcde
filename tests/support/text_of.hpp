// SPDX-License-Identifier: MIT
// The text of a file, also of one that may go away while it is read.
#pragma once

#include <string>

namespace mortise::test {

/// @return what a file holds; empty where there is none. Of a process's files in /proc what came
/// until it had gone.
[[nodiscard]] std::string text_of(const std::string& path);

}  // namespace mortise::test
