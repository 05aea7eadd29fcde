// SPDX-License-Identifier: MIT
// Goal: an attempt that failed for its caller, and may be held at the server, is neither forgotten
// nor taken back indefinitely. Method: the table of attempts alone; the time is an argument.
#include "unit/remote_courses_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

/// Attempt 1 was asked for by a connection, and its caller got an error since.
class RemoteAbandonedAttempt : public CoursesFixture {
 protected:
  RemoteAbandonedAttempt() {
    auto operation = operation_of(1);
    EXPECT_TRUE(table_.asked(operation, 1));
    operation->sent(start - 1s);
    operation->failed({Errc::denied, "refused"});
    EXPECT_TRUE(table_.abandoned(operation, start));
  }
  [[nodiscard]] std::size_t listed(Instant now) { return table_.to_undo(now).size(); }
  [[nodiscard]] bool is_unresolved(std::uint64_t sequence) const {
    return table_.ask(id_of(sequence), [](const auto& course) { return course.is_unresolved(); });
  }
  [[nodiscard]] bool is_to_be_undone(std::uint64_t sequence) const {
    return table_.ask(id_of(sequence), [](const auto& course) { return course.is_to_be_undone(); });
  }
};

TEST_F(RemoteAbandonedAttempt, IsKeptForEachNextConnection) {
  for (int connection = 0; connection < 3; ++connection) {
    EXPECT_EQ(listed(start + 10s), 1U);
    EXPECT_TRUE(table_.is_any_pending(start + 10s));
  }
}

// The caller repeats what it takes back itself, and waits for a connection.
TEST_F(RemoteAbandonedAttempt, IsNotWhatACallerTakesBack) {
  EXPECT_TRUE(table_.asked(two_, 1));
  EXPECT_TRUE(table_.cancelled(two_));
  table_.request_lost(two_, {.noted = start}, start);
  EXPECT_TRUE(is_unresolved(2));
  EXPECT_FALSE(is_to_be_undone(2)) << "nobody would send its cancel";
  EXPECT_TRUE(is_to_be_undone(1));
}

TEST_F(RemoteAbandonedAttempt, IsNotTriedIndefinitely) {
  EXPECT_FALSE(table_.is_any_pending(start + 2min)) << "a server that has gone is connected to";
  EXPECT_EQ(listed(start + 2min), 0U);
  EXPECT_EQ(listed(start), 0U) << "it is not kept either";
}

TEST_F(RemoteAbandonedAttempt, IsOverWithTheAnswerThatNothingIsThere) {
  table_.over(id_of(1));
  EXPECT_EQ(listed(start), 0U);
  EXPECT_FALSE(table_.is_any_pending(start));
}

TEST_F(RemoteAbandonedAttempt, StaysUntilWhatItWasGrantedIsReleased) {
  static_cast<void>(table_.held(id_of(1), 5, start, start + 30s));
  EXPECT_EQ(listed(start), 1U) << "the release may never have been sent";
  EXPECT_TRUE(is_unresolved(1));
  static_cast<void>(table_.released(id_of(1), 5));
  EXPECT_EQ(listed(start), 0U);
  EXPECT_FALSE(table_.is_any_pending(start));
}

TEST_F(RemoteAbandonedAttempt, IsSettledIfALookFindsNothing) {
  static_cast<void>(table_.held(id_of(1), 5, start, start + 30s));
  table_.on(id_of(1), [](Entry& entry) { entry.course.settle(); });
  EXPECT_EQ(listed(start), 0U);
  EXPECT_FALSE(is_unresolved(1));
}

}  // namespace
}  // namespace mortise::remote
