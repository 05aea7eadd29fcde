// SPDX-License-Identifier: MIT
// A program of its own, whose allocations fail one after the other (support/shortage.hpp).
#pragma once

#include "model/process.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace mortise::test {

/// Runs it to its end. The test is skipped where allocations cannot be made to fail.
/// @param program the last part of its name
inline void expect_no_harm_by_shortage(const std::string& program,
                                       const std::vector<std::string>& arguments,
                                       std::chrono::seconds at_most) {
  model::Process process = model::Process::spawn(MORTISE_BIN_DIR "/mortise_" + program, arguments);
  const auto exit = process.wait_for(at_most);
  ASSERT_TRUE(exit) << "it does not end";
  EXPECT_FALSE(exit->killed()) << "an exception left a function that must not throw";
  if (exit->code == 77) GTEST_SKIP() << "clang's sanitizers have an operator new of their own";
  EXPECT_EQ(exit->code, 0) << "its own words say what was left behind";
}

}  // namespace mortise::test
