// SPDX-License-Identifier: MIT
// Goal: a hold lasts as long as its own deadline says and no longer: counted from before the first
// request, renewed by a majority inside it, taken again on servers that were restarted only inside
// it, and never brought back. Method: slow, forgetful and late servers, and the hold's own words.
#include "fault/redlock_fixture.hpp"

namespace mortise::fault {
namespace {

class RedlockValidity : public RedlockTest {
 protected:
  void delay_replies(std::initializer_list<std::size_t> some, std::chrono::nanoseconds by) {
    for (const std::size_t i : some) {
      servers().proxy(i).delay(by, by, Proxy::Direction::to_client);
    }
  }
};

// Promise: S1
TEST_F(RedlockValidity, AQuorumThatIsReachedTooLateIsNoLock) {
  proxied();
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 300ms, .renew = false});
  delay_replies({0, 1, 2}, 350ms);
  std::error_code error;
  EXPECT_FALSE(lock.try_lock_for(1500ms, error));
  EXPECT_TRUE(is_retryable(error)) << error.message();
  EXPECT_EQ(lock.hold_count(), 0U);
  delay_replies({0, 1, 2}, 0ms);
  EXPECT_TRUE(taken_within(lock, 5s));
  EXPECT_GT(lock.valid_for(), 0ns);
  lock.unlock();
}

TEST_F(RedlockValidity, IsCountedFromBeforeTheFirstRequest) {
  proxied();
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 3s, .renew = false});
  delay_replies({0, 1, 2, 3, 4}, 200ms);
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(lock.try_lock_for(patience));
  const std::chrono::nanoseconds left = lock.valid_for();
  const auto gone = std::chrono::steady_clock::now() - before;
  EXPECT_GE(gone, 200ms);
  EXPECT_LE(left, 3s - 200ms);
  // It loses its margin of a hundredth, a thousandth for drift, and what the test itself took.
  EXPECT_GE(left, 3s - 60ms - gone);
  lock.unlock();
}

TEST_F(RedlockValidity, TheTimeOfWaitingIsNotTakenFromTheHold) {
  Client theirs = client();
  Lock held = theirs.make_lock("a", {.lease = 20s});
  held.lock();
  Party waiter(ready_client(), "a", {.lease = 1s, .renew = false});
  auto served = waiter.start();
  ASSERT_TRUE(waiter.worker().falls_asleep());
  // Longer than its own lease.
  EXPECT_FALSE(comes_within(served, 1500ms));
  held.unlock();
  ASSERT_TRUE(comes(served));
  // Read a moment later, by another thread: half of it is a bound that any machine keeps.
  EXPECT_GT(waiter.run([&] { return waiter.lock().valid_for(); }), 400ms);
  EXPECT_EQ(waiter.release(), Released::released);
}

TEST_F(RedlockValidity, IsRenewedByAMajorityWithoutAGapAndWithTheSameToken) {
  Client mine = ready_client();
  Client other = client();
  Lock lock = mine.make_lock("a", {.lease = 600ms});
  lock.lock();
  const Token token = lock.token();
  Lock theirs = other.make_lock("a");
  const auto until = std::chrono::steady_clock::now() + 2s;
  while (std::chrono::steady_clock::now() < until) {
    ASSERT_FALSE(theirs.try_lock());
    ASSERT_GT(lock.valid_for(), 0ns);
  }
  EXPECT_EQ(lock.token(), token);
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(RedlockValidity, AServerThatWasRestartedWithNothingIsTakenAgainInsideTheDeadline) {
  static_cast<void>(servers(3));
  Client mine = ready_client();
  Client other = client();
  Lock lock = mine.make_lock("a", {.lease = 1500ms});
  lock.lock();
  const Token token = lock.token();
  // One after the other: in the end no server is left that has seen the grant.
  for (std::size_t i = 0; i < servers().size(); ++i) {
    servers().forget(i);
    EXPECT_FALSE(is_held(i, "a"));
    ASSERT_TRUE(eventually([&] { return is_held(i, "a"); }, 5s)) << i;
    EXPECT_FALSE(other.make_lock("a").try_lock()) << i;
  }
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.token(), token);
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
  Lock theirs = other.make_lock("a");
  ASSERT_TRUE(theirs.try_lock_for(patience));
  EXPECT_GT(theirs.token(), token);
  theirs.unlock();
}

TEST_F(RedlockValidity, AMajorityThatForgetsAtOnceTakesTheHold) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 1500ms, .renew = false});
  lock.lock();
  const Token token = lock.token();
  for (const std::size_t i : {0U, 1U, 2U}) servers().forget(i);
  Client other = client();
  Lock theirs = other.make_lock("a", {.lease = 20s});
  EXPECT_TRUE(theirs.try_lock_for(patience));
  EXPECT_GT(theirs.token(), token);
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, 2s));
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_GT(theirs.valid_for(), 0ns);
  EXPECT_GE(holds("a"), 3U);
  EXPECT_EQ(theirs.release(), Released::released);
}

// Promise: S4
TEST_F(RedlockValidity, ARenewalThatArrivesAfterTheDeadlineBringsNothingBack) {
  proxied();
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 600ms});
  lock.lock();
  const Token token = lock.token();
  const std::stop_token lost = lock.lost();
  for (std::size_t i = 0; i < servers().size(); ++i) {
    servers().proxy(i).hold_requests(true, Proxy::Connections::commands);
    servers().proxy(i).refuse(true);
  }
  ASSERT_TRUE(eventually([&] { return lost.stop_requested(); }, 2s));
  // Somebody else has it meanwhile, and gives it back: the servers are empty-handed again.
  Client other(servers().direct_url());
  Lock theirs = other.make_lock("a");
  ASSERT_TRUE(taken_within(theirs, 600ms + 1s));
  const Token newer = theirs.token();
  EXPECT_GT(newer, token);
  EXPECT_EQ(theirs.release(), Released::released);
  std::size_t late = 0;
  for (std::size_t i = 0; i < servers().size(); ++i) {
    late += servers().proxy(i).release_held();
    servers().proxy(i).refuse(false);
  }
  EXPECT_GT(late, 0U) << "no renewal was on its way";
  EXPECT_EQ(lock.valid_for(), 0ns);
  EXPECT_EQ(lock.release(), Released::was_lost);
  // Whatever the late copies took, they do not keep it for longer than their lease.
  ASSERT_TRUE(taken_within(theirs, 600ms + 1s));
  EXPECT_GT(theirs.token(), newer);
  theirs.unlock();
}

// A client that reaches some servers only: its lock is held on these.
class RedlockRestart : public RedlockTest {
 protected:
  [[nodiscard]] Client client_without(std::initializer_list<std::size_t> some) {
    for (const std::size_t i : some) servers().proxy(i).refuse(true);
    return client();
  }
  [[nodiscard]] Client whole_client() { return Client(servers().direct_url()); }
};

// The manual's warning: a server that comes back at once with nothing votes twice.
TEST_F(RedlockRestart, WithNothingAndWithoutADelayBreaksExclusionButNotTheToken) {
  Client mine = client_without({3, 4});
  Lock lock = mine.make_lock("a", {.lease = 5s, .renew = false});
  lock.lock();
  EXPECT_EQ(holds("a"), 3U);
  servers().forget(2);
  Client other = whole_client();
  Lock theirs = other.make_lock("a", {.lease = 5s, .renew = false});
  ASSERT_TRUE(taken_within(theirs, 2s));
  EXPECT_GT(lock.valid_for(), 0ns) << "two hold it: this is what the delay is for";
  EXPECT_GT(theirs.valid_for(), 0ns);
  EXPECT_GT(theirs.token(), lock.token()) << "a store that checks tokens is safe all the same";
  theirs.unlock();
  lock.unlock();
}

TEST_F(RedlockRestart, WithNothingALeaseLaterKeepsExclusion) {
  constexpr std::chrono::milliseconds lease{1500};
  Client mine = client_without({3, 4});
  Lock lock = mine.make_lock("a", {.lease = lease, .renew = false});
  lock.lock();
  const Owner holder = Owner().or_this_thread();
  const Token token = lock.token();
  kill(2);
  const auto killed = std::chrono::steady_clock::now();
  Party next(whole_client(), "a", {.lease = lease});
  auto left = next.worker().start([&] {
    next.lock().lock();
    return lock.valid_for(holder);
  });
  EXPECT_FALSE(comes_within(left, 300ms));
  EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() >= killed + lease; }));
  start(2);
  ASSERT_TRUE(comes(left, lease + 2s));
  EXPECT_EQ(left.get(), 0ns) << "two held the lock";
  EXPECT_GT(next.run([&] { return next.lock().token(); }), token);
  EXPECT_EQ(next.release(), Released::released);
  lock.unlock();
}

TEST_F(RedlockRestart, WithAllDataNeedsNoDelay) {
  RedisServerOptions keeps;
  keeps.persistence = RedisServerOptions::Persistence::always;
  static_cast<void>(servers(5, keeps));
  Client mine = client_without({3, 4});
  Lock lock = mine.make_lock("a", {.lease = 2s, .renew = false});
  lock.lock();
  const Owner holder = Owner().or_this_thread();
  kill(2);
  start(2);
  Party next(whole_client(), "a");
  auto left = next.worker().start([&] {
    next.lock().lock();
    return lock.valid_for(holder);
  });
  ASSERT_TRUE(comes(left, 2s + 2s));
  EXPECT_EQ(left.get(), 0ns) << "two held the lock";
  EXPECT_EQ(next.release(), Released::released);
  lock.unlock();
}

}  // namespace
}  // namespace mortise::fault
