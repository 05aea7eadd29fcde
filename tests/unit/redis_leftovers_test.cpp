// SPDX-License-Identifier: MIT
// Goal: what a late copy may have taken is waited for no longer than somebody can find it out.
// Method: the table of attempts alone, event by event.
#include "redis/attempts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>

namespace mortise::redis {
namespace {

using namespace std::chrono_literals;

// Whoever closes the client would wait for it.
TEST(RedisLeftovers, ThatAreRefusedForGoodAreWaitedForNoMore) {
  const Instant start{1h};
  const AttemptId id{1, 2, 1};
  const auto operation = std::make_shared<Acquisition>(
      Acquisition::Request{.attempt = id, .name = "a", .lease = 30s, .wait = true});
  std::mutex mutex;
  Attempts attempts{mutex};
  attempts.unanswered(id, 0, 1, start, operation);
  ASSERT_EQ(attempts.leftover(id), operation);
  EXPECT_TRUE(attempts.takes_back(start));
  attempts.give_up_leftover(id);
  EXPECT_FALSE(attempts.takes_back(start));
  EXPECT_FALSE(attempts.is_leftover(id));
  EXPECT_THAT(attempts.leftovers(), ::testing::IsEmpty());
  EXPECT_TRUE(attempts.has_copies(id)) << "the server does not refuse them yet";
}

}  // namespace
}  // namespace mortise::redis
