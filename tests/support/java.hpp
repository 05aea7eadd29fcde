// SPDX-License-Identifier: MIT
// The Java that runs the servers and clients of tests.
#pragma once

namespace mortise::test {

inline constexpr const char* java_program = "/usr/bin/java";

}  // namespace mortise::test
