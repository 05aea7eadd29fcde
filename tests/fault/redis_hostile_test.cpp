// SPDX-License-Identifier: MIT
// Goal: whatever comes back instead of a reply, the caller gets the truth or a typed error, in
// time, and the client works again. Method: a proxy cuts, drips and delays replies.
#include "fault/redis_proxied.hpp"

namespace mortise::fault {
namespace {

const LockOptions quick{.lease = 1200ms};

class RedisHostile : public ProxiedRedisTest {};

// A false `true`, a hang and a thrown code that says nothing would all be failures.
TEST_F(RedisHostile, AnAcquireWhoseReplyIsCutAnywhereIsAHoldOrATypedError) {
  Client mine = ready_client();
  for (std::size_t bytes = 0; bytes <= 60; ++bytes) {
    Lock lock = mine.make_lock("a", quick);
    proxy().cut_reply_after(bytes, Proxy::Replies::scripts);
    std::error_code error;
    bool held = false;
    const auto took = own_duration_of([&] { held = lock.try_lock_for(1s, error); });
    EXPECT_LT(took, 1s + allowance + slack) << bytes;
    EXPECT_TRUE(held) << bytes << ": " << error.message();
    expect_truth(lock, held, std::to_string(bytes));
    proxy().heal();
  }
}

TEST_F(RedisHostile, AReleaseWhoseReplyIsCutAnywhereFreesOnceAndKnowsIt) {
  Client mine = ready_client();
  for (std::size_t bytes = 0; bytes <= 60; ++bytes) {
    Lock lock = mine.make_lock("a", quick);
    ASSERT_TRUE(taken_within(lock, 2s)) << bytes;
    proxy().cut_reply_after(bytes, Proxy::Replies::scripts);
    std::error_code error;
    Released outcome{};
    EXPECT_LT(own_duration_of([&] { outcome = lock.release(error); }), 1s + slack) << bytes;
    EXPECT_EQ(outcome, Released::released) << bytes;
    EXPECT_FALSE(error) << error.message();
    EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 2s)) << bytes;
    proxy().heal();
  }
}

TEST_F(RedisHostile, AGrantWhosePushIsCutAnywhereIsStillOne) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  Party waiter(ready_client(), "a", quick);
  for (std::size_t bytes = 0; bytes <= 130; bytes += 13) {
    lock.lock();
    auto served = waiter.start();
    ASSERT_TRUE(come_to_wait("a")) << bytes;
    proxy().cut_reply_after(bytes, Proxy::Replies::pushes);
    lock.unlock();
    ASSERT_TRUE(comes(served, 2s + slack)) << bytes;
    EXPECT_EQ(waiter.release(), Released::released) << bytes;
    proxy().heal();
  }
  expect_free("a");
}

TEST_F(RedisHostile, RepliesThatDripAreReplies) {
  Client mine = ready_client();
  proxy().drip(100us);
  Lock lock = mine.make_lock("a", {.lease = 6s});
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(taken_within(lock, 2s));
    EXPECT_EQ(lock.release(), Released::released);
  }
  Client fresh(proxy().url());
  fresh.check(patience);
  // So slowly that the command time-out is over first: in time, and the truth.
  proxy().drip(50ms);
  std::error_code error;
  bool held = false;
  Lock slow = mine.make_lock("b", quick);
  EXPECT_LT(own_duration_of([&] { held = slow.try_lock_for(400ms, error); }),
            400ms + allowance + slack);
  EXPECT_FALSE(held);
  EXPECT_TRUE(error == Errc::in_doubt || error == Errc::unavailable) << error.message();
  proxy().drip(0ns);
  expect_truth(slow, false, "dripped");
  EXPECT_TRUE(slow.try_lock_for(patience));
  slow.unlock();
}

TEST_F(RedisHostile, RepliesThatAreLateCostTheirDelayAndNoMore) {
  Client mine = ready_client();
  proxy().delay(40ms, 60ms, Proxy::Direction::to_client);
  Lock lock = mine.make_lock("a", {.lease = 6s});
  EXPECT_LT(own_duration_of([&] { ASSERT_TRUE(lock.try_lock_for(patience)); }), 60ms + slack);
  // Counted from before the request left.
  EXPECT_LT(lock.valid_for(), 6s - 40ms);
  EXPECT_EQ(lock.release(), Released::released);
  // Beyond the caller's time.
  proxy().delay(400ms, 400ms, Proxy::Direction::to_client);
  std::error_code error;
  EXPECT_LT(own_duration_of([&] { EXPECT_FALSE(lock.try_lock_for(100ms, error)); }),
            100ms + allowance + slack);
  EXPECT_EQ(error, Errc::in_doubt) << error.message();
  proxy().delay(0ns, 0ns);
  expect_truth(lock, false, "late");
}

TEST_F(RedisHostile, AGrantThatComesAfterItsLeaseIsNoHold) {
  Client mine = ready_client();
  proxy().delay(500ms, 500ms, Proxy::Direction::to_client);
  Lock lock = mine.make_lock("a", {.lease = 150ms});
  std::error_code error;
  EXPECT_FALSE(lock.try_lock_for(1200ms, error));
  EXPECT_TRUE(is_retryable(error)) << error.message();
  EXPECT_EQ(lock.valid_for(), 0ns);
  proxy().delay(0ns, 0ns);
  expect_truth(lock, false, "late");
  EXPECT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
}

}  // namespace
}  // namespace mortise::fault
