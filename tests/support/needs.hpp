// SPDX-License-Identifier: MIT
// What a test needs of the machine that runs it.
#pragma once

#include <gtest/gtest.h>

#include <string>

/// Skips the test, in its body or SetUp(), where there is something missing; where servers are
/// required, in CI, the test fails.
#define MORTISE_NEEDS(missing)                                                 \
  do {                                                                         \
    if (const std::string lack = (missing); !lack.empty()) {                   \
      if (MORTISE_REQUIRE_SERVERS != 0) FAIL() << lack << " is not installed"; \
      GTEST_SKIP() << lack << " is not installed";                             \
    }                                                                          \
  } while (false)
