// SPDX-License-Identifier: MIT
// Goal: without a majority there is no lock, and everybody is told in time; nothing stays on the
// servers that are left, and when the others are back all goes on without a restart. Method: three
// of five are missing, in all ways, before a call, during it, and while a lock is held.
#include "fault/redlock_fixture.hpp"

#include <functional>

namespace mortise::fault {
namespace {

// Leases so long that nothing here ends by them.
const LockOptions lasting{.lease = 20s};

class RedlockMajority : public RedlockTest {
 protected:
  static constexpr std::size_t most[] = {0, 2, 4};

  void expect_no_lock(Client& mine) {
    Lock lock = mine.make_lock("a", lasting);
    constexpr std::chrono::milliseconds wait{400};
    std::error_code error;
    bool held = true;
    const auto took = best_of(3, wait + allowance, [&] {
      return own_duration_of([&] { held = lock.try_lock_for(wait, error); });
    });
    EXPECT_LT(took, wait + allowance + slack);
    EXPECT_FALSE(held);
    EXPECT_EQ(error, Errc::unavailable) << error.message();
    EXPECT_EQ(lock.hold_count(), 0U);
    expect_free("a");
  }
  void expect_recovery(Client& mine) {
    Lock lock = mine.make_lock("a", lasting);
    EXPECT_TRUE(taken_within(lock, 5s));
    EXPECT_EQ(lock.release(), Released::released);
    expect_free("a", patience);
  }
};

// Promise: L3
TEST_F(RedlockMajority, ThatIsDownIsUnavailableAndNothingIsLeft) {
  Client mine = ready_client();
  for (const std::size_t i : most) kill(i);
  expect_no_lock(mine);
  for (const std::size_t i : most) start(i);
  expect_recovery(mine);
}

TEST_F(RedlockMajority, ThatWasDownFromTheBeginningIsUnavailable) {
  static_cast<void>(servers());
  for (const std::size_t i : most) kill(i);
  Client mine = client();
  expect_no_lock(mine);
  std::error_code error;
  mine.check(200ms, error);
  EXPECT_EQ(error, Errc::unavailable);
  for (const std::size_t i : most) start(i);
  mine.check(5s);
  expect_recovery(mine);
}

TEST_F(RedlockMajority, ThatStandsStillIsUnavailableAndNothingIsLeft) {
  Client mine = ready_client();
  for (const std::size_t i : most) stop(i);
  expect_no_lock(mine);
  for (const std::size_t i : most) resume(i);
  expect_recovery(mine);
}

TEST_F(RedlockMajority, ThatIsCutOffIsUnavailableAndNothingIsLeft) {
  proxied();
  Client mine = ready_client();
  for (const std::size_t i : most) servers().proxy(i).blackhole(true);
  expect_no_lock(mine);
  for (const std::size_t i : most) servers().proxy(i).blackhole(false);
  expect_recovery(mine);
}

TEST_F(RedlockMajority, ThatRefusesConnectionsIsUnavailableWithTheCause) {
  proxied();
  Client mine = client();
  for (const std::size_t i : most) servers().proxy(i).refuse(true);
  Lock lock = mine.make_lock("a");
  const Failure failure = failure_of([&] { static_cast<void>(lock.try_lock_for(300ms)); });
  EXPECT_EQ(failure.code, Errc::unavailable);
  EXPECT_THAT(failure.text, HasSubstr("refused"));
  EXPECT_THAT(failure.text, HasSubstr("127.0.0.1"));
  for (const std::size_t i : most) servers().proxy(i).refuse(false);
  expect_recovery(mine);
}

// Also where the two that granted could not be told: when they are reachable again.
TEST_F(RedlockMajority, WhatTheOthersGrantedIsUndoneWhenTheyAreReachableAgain) {
  proxied();
  Client mine = ready_client();
  for (const std::size_t i : most) servers().proxy(i).blackhole(true);
  // Their grants are on their way, and the client is cut off before it can take them back.
  for (const std::size_t i : {1U, 3U}) {
    servers().proxy(i).delay(150ms, 150ms, Proxy::Direction::to_client);
  }
  Lock lock = mine.make_lock("a", lasting);
  Worker worker;
  auto outcome = worker.start([&] {
    std::error_code error;
    EXPECT_FALSE(lock.try_lock_for(100ms, error));
    return error;
  });
  ASSERT_TRUE(eventually([&] { return holds("a") == 2; }));
  for (const std::size_t i : {1U, 3U}) {
    servers().proxy(i).refuse(true);
    servers().proxy(i).cut_all();
  }
  EXPECT_TRUE(is_retryable(outcome.get()));
  EXPECT_EQ(holds("a"), 2U);
  for (const std::size_t i : {1U, 3U}) {
    servers().proxy(i).heal();
    servers().proxy(i).refuse(false);
    servers().proxy(i).delay(0ns, 0ns);
  }
  expect_free("a", 5s);
  for (const std::size_t i : most) servers().proxy(i).heal();
  expect_recovery(mine);
}

// Promise: L7
TEST_F(RedlockMajority, AWaiterWithoutEndIsServedWhenItIsBack) {
  Party waiter(client({.give_up = 0ms}), "a", lasting);
  for (const std::size_t i : most) kill(i);
  auto served = waiter.start();
  ASSERT_TRUE(waiter.worker().falls_asleep());
  EXPECT_FALSE(comes_within(served, 0s));
  start(most[0]);
  EXPECT_TRUE(comes(served, 5s)) << "three of five are a majority";
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_F(RedlockMajority, AReleaseWithoutAMajorityIsUnknownAndIsMadeUpFor) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", lasting);
  lock.lock();
  for (const std::size_t i : most) stop(i);
  Released outcome{};
  EXPECT_LT(own_duration_of([&] { outcome = lock.release(); }), 1s + allowance + slack);
  EXPECT_EQ(outcome, Released::unknown);
  EXPECT_EQ(lock.hold_count(), 0U);
  for (const std::size_t i : most) resume(i);
  // Far sooner than by its lease.
  expect_free("a", 5s);
}

TEST_F(RedlockMajority, AReleaseByAMajorityIsReleased) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", lasting);
  lock.lock();
  stop(1);
  kill(3);
  Released outcome{};
  EXPECT_LT(own_duration_of([&] { outcome = lock.release(); }), 1s);
  EXPECT_EQ(outcome, Released::released);
  resume(1);
  expect_free("a", 5s);
}

TEST_F(RedlockMajority, AHoldEndsByTheClockWithoutIt) {
  const auto record = std::make_shared<Record>();
  Client mine = ready_client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 900ms});
  {
    const Guard guard(lock);
    const std::stop_token& lost = guard.lost();
    for (const std::size_t i : most) stop(i);
    const std::chrono::nanoseconds left = guard.valid_for();
    EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }, left + allowance + slack));
    EXPECT_EQ(guard.valid_for(), 0ns);
    EXPECT_TRUE(record->told(Record::Kind::lost, 1));
  }  // silent
  for (const std::size_t i : most) resume(i);
  expect_recovery(mine);
}

// Promise: L8
TEST_F(RedlockMajority, AHoldOutlivesAnOutageThatIsShorterThanItsLease) {
  const auto record = std::make_shared<Record>();
  Client mine = ready_client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 3s});
  lock.lock();
  const Token token = lock.token();
  for (const std::size_t i : most) stop(i);
  // A renewal is due by then.
  EXPECT_TRUE(eventually([&] { return lock.valid_for() < 1700ms; }));
  for (const std::size_t i : most) resume(i);
  const std::size_t before = record->count(Record::Kind::renewed);
  EXPECT_TRUE(record->told(Record::Kind::renewed, before + 1));
  EXPECT_GT(lock.valid_for(), 1s);
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.token(), token);
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a", 5s);
}

// Final errors are told at once where a majority gives them, whatever the wait.
class RedlockRefusals : public RedlockMajority {
 protected:
  void expect_refusal(Errc code) {
    Client mine = client();
    Lock lock = mine.make_lock("a");
    Failure failure;
    EXPECT_LT(own_duration_of([&] { failure = failure_of([&] { lock.lock(); }); }), 3s);
    EXPECT_EQ(failure.code, code) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("127.0.0.1"));
    EXPECT_THAT(failure.text, Not(HasSubstr("open-sesame")));
    expect_free("a");
  }
};

TEST_F(RedlockRefusals, AMajorityThatRefusesTheUserIsDenied) {
  static_cast<void>(servers());
  for (const std::size_t i : most) {
    servers()[i].talk().expect_ok({"CONFIG", "SET", "requirepass", "open-sesame"});
  }
  expect_refusal(Errc::denied);
}

TEST_F(RedlockRefusals, AMajorityWhereARightIsMissingIsDenied) {
  static_cast<void>(servers());
  for (const std::size_t i : most) {
    servers()[i].talk().expect_ok({"ACL", "SETUSER", "default", "-hset"});
  }
  expect_refusal(Errc::denied);
}

TEST_F(RedlockRefusals, AMajorityThatMayEvictIsMisconfigured) {
  static_cast<void>(servers());
  for (const std::size_t i : most) {
    servers()[i].talk().expect_ok({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  }
  expect_refusal(Errc::misconfigured);
}

TEST_F(RedlockRefusals, AMajorityWithoutMemoryIsExhausted) {
  static_cast<void>(servers());
  for (const std::size_t i : most) {
    servers()[i].talk().expect_ok({"CONFIG", "SET", "maxmemory", "1"});
  }
  Client mine = client();
  Lock lock = mine.make_lock("a", lasting);
  const Failure failure = failure_of([&] { static_cast<void>(lock.try_lock_for(400ms)); });
  EXPECT_EQ(failure.code, Errc::exhausted) << failure.text;
  for (const std::size_t i : most) {
    servers()[i].talk().expect_ok({"CONFIG", "SET", "maxmemory", "0"});
  }
  expect_recovery(mine);
}

TEST_F(RedlockRefusals, AMajorityWithSomethingElseInTheKeyIsAProtocolError) {
  Client mine = ready_client();
  for (const std::size_t i : most) servers()[i].talk().expect_ok({"SET", key("a"), "mine"});
  Lock lock = mine.make_lock("a", lasting);
  const Failure failure = failure_of([&] { lock.lock(); });
  EXPECT_EQ(failure.code, Errc::protocol) << failure.text;
  for (const std::size_t i : most) {
    EXPECT_EQ(servers()[i].talk().command({"GET", key("a")}).text, "mine");
    servers()[i].talk().expect_ok({"DEL", key("a")});
  }
  expect_recovery(mine);
}

}  // namespace
}  // namespace mortise::fault
