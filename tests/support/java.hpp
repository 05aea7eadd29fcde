// SPDX-License-Identifier: MIT
#pragma once

namespace mortise::test {

/// The Java that runs the servers and clients of tests.
inline constexpr const char* java_program = "/usr/bin/java";

}  // namespace mortise::test
