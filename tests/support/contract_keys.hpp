// SPDX-License-Identifier: MIT
// What the tests of keys share: what came of a call, in words that a failing test prints, and work
// that counts how often it was done.
#pragma once

#include "support/contract_suites.hpp"

#include <atomic>
#include <ostream>
#include <string>
#include <string_view>

namespace mortise::contract {

/// Work whose effect can be counted, and whose result says which time it was.
class Work {
 public:
  std::string operator()() { return "done " + std::to_string(++times_); }
  [[nodiscard]] int times() const { return times_.load(); }

 private:
  std::atomic<int> times_{0};
};

inline void expect_success(const Outcome& outcome, std::string_view result) {
  EXPECT_EQ(outcome.state(), KeyState::succeeded);
  EXPECT_EQ(outcome.result(), result);
  EXPECT_EQ(outcome.reason(), "");
  EXPECT_FALSE(outcome.lost());
  EXPECT_TRUE(outcome.token());
}

inline void expect_failure(const Outcome& outcome, std::string_view reason) {
  EXPECT_EQ(outcome.state(), KeyState::failed);
  EXPECT_EQ(outcome.reason(), reason);
  EXPECT_EQ(outcome.result(), "");
  EXPECT_FALSE(outcome.lost());
}

/// A body that must not be called.
inline auto never_run() {
  return [] { ADD_FAILURE() << "it was run"; };
}

}  // namespace mortise::contract
