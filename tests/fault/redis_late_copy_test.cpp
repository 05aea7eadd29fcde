// SPDX-License-Identifier: MIT
// Goal: a request that arrives when its client has long sent it again changes nothing. Method: a
// proxy keeps what goes through one connection, the client gives it up by its command time-out and
// goes on by another, and then the proxy delivers.
#include "fault/redis_script.hpp"

namespace mortise::fault {
namespace {

// The command time-out is a third of it.
const LockOptions soon_over{.lease = 900ms};

class RedisLateCopy : public RedisScriptTest {
 protected:
  [[nodiscard]] Proxy& proxy() {
    if (!proxy_) proxy_.emplace(server().port());
    return *proxy_;
  }
  /// A client whose connections stand, so that nothing but the next requests is kept.
  [[nodiscard]] Client ready_client(ClientOptions options = {}) {
    Client mine(proxy().url(), std::move(options));
    Lock first = mine.make_lock("first");
    first.lock();
    first.unlock();
    EXPECT_TRUE(eventually([&] { return proxy().connections(Proxy::Connections::inboxes) == 1; }));
    EXPECT_EQ(proxy().connections(), 2U);
    return mine;
  }
  /// A copy that took the lock is found as soon as no other can arrive, and not by its lease.
  void expect_soon_free(std::chrono::milliseconds within = 500ms) {
    EXPECT_TRUE(eventually([&] { return !is_held("a") && waiting("a") == 0; }, within));
    expect_free("a");
  }
  void keep_requests() { proxy().hold_requests(true, Proxy::Connections::commands); }
  /// @return the server's count of scripts, which tells that what was delivered was executed.
  [[nodiscard]] std::uint64_t scripts() {
    auto stats = server().talk().command_stats();
    return stats["evalsha"] + stats["eval"];
  }
  void deliver() {
    ASSERT_GT(proxy().held(), 0U);
    const std::uint64_t before = scripts();
    const std::size_t sent = proxy().release_held();
    ASSERT_TRUE(eventually([&] { return scripts() >= before + sent; }));
  }

 private:
  std::optional<Proxy> proxy_;
};

// Promise: S5
TEST_F(RedisLateCopy, AnAcquireThatArrivesAfterItsReleaseTakesNothing) {
  Client mine = ready_client();
  keep_requests();
  Lock lock = mine.make_lock("a", soon_over);
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
  deliver();
  expect_soon_free();
  Client other = client();
  EXPECT_TRUE(other.make_lock("a").try_lock());
}

TEST_F(RedisLateCopy, AnAcquireThatArrivesInTheHoldOfAnotherTakesNothing) {
  Client mine = ready_client();
  keep_requests();
  Lock lock = mine.make_lock("a", soon_over);
  ASSERT_TRUE(lock.try_lock_for(patience));
  const Token token = lock.token();
  EXPECT_EQ(lock.release(), Released::released);
  Client other = client();
  Lock theirs = other.make_lock("a");
  ASSERT_TRUE(theirs.try_lock());
  EXPECT_GT(theirs.token(), token);
  deliver();
  EXPECT_EQ(theirs.release(), Released::released);
  expect_free("a");
}

TEST_F(RedisLateCopy, AnAcquireThatArrivesAfterItsCallerGaveUpDoesNotJoinTheQueue) {
  Client other = client();
  Lock theirs = other.make_lock("a");
  theirs.lock();
  Client mine = ready_client();
  keep_requests();
  Lock lock = mine.make_lock("a", soon_over);
  EXPECT_FALSE(lock.try_lock_for(600ms));
  ASSERT_TRUE(eventually([&] { return waiting("a") == 0; }));
  deliver();
  EXPECT_TRUE(eventually([&] { return waiting("a") == 0; }, 500ms));
  EXPECT_THAT(queued("a"), IsEmpty());
  theirs.unlock();
  expect_free("a");
}

TEST_F(RedisLateCopy, AnAcquireInDoubtTakesNothingAfterItWasTakenBack) {
  Client mine = ready_client();
  keep_requests();
  // So long that only a look of its client can end what a copy took.
  Lock lock = mine.make_lock("a", {.lease = 20s});
  const std::uint64_t before = scripts();
  std::error_code error;
  EXPECT_FALSE(lock.try_lock_for(50ms, error));
  EXPECT_EQ(error, Errc::in_doubt) << error.message();
  ASSERT_TRUE(eventually([&] { return scripts() > before; })) << "it is not taken back";
  deliver();
  expect_soon_free(2s);
}

// The waiter's next question is refused, and then a message says that it has the lock: nobody asks
// any more. The hold ends without a release.
TEST_F(RedisLateCopy, AnAcquireThatArrivesAfterAMessageHasDecidedTakesNothing) {
  ASSERT_EQ(acquire('a'), "granted");
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 3s});
  Worker worker;
  auto served = worker.start([&] { lock.lock(); });
  ASSERT_TRUE(come_to_wait("a"));
  keep_requests();
  ASSERT_TRUE(eventually([&] { return proxy().held() > 0; })) << "it does not ask again";
  RedisTalk talk = server().talk();
  talk.expect_ok({"CONFIG", "RESETSTAT"});
  talk.expect_ok({"CONFIG", "SET", "min-replicas-to-write", "1"});
  ASSERT_TRUE(eventually([&] {
    return talk.command({"INFO", "errorstats"}).text.find("NOREPLICAS") != std::string::npos;
  }));
  // Both at once, or it would ask in between.
  talk.expect_ok({"MULTI"});
  talk.expect_ok({"CONFIG", "SET", "min-replicas-to-write", "0"});
  talk.expect_ok(command("EVAL", std::string(redis::scripts::release.text), releasing(hold())));
  talk.expect_ok({"EXEC"});
  ASSERT_TRUE(comes(served));
  force_holder();
  deliver();
  EXPECT_FALSE(is_held("a"));
  EXPECT_NE(worker.run([&] { return lock.release(); }), Released::released);
}

// Promise: S5
TEST_F(RedisLateCopy, AReleaseThatArrivesInTheNextHoldFreesNothing) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", soon_over);
  lock.lock();
  keep_requests();
  static_cast<void>(lock.release());
  ASSERT_TRUE(eventually([&] { return !is_held("a"); })) << "it was not repeated";
  ASSERT_TRUE(lock.try_lock_for(patience));
  deliver();
  EXPECT_TRUE(is_held("a"));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

// The release names the next attempt of its client, which is granted the lock by a second copy and
// has given it back when the first one comes.
TEST_F(RedisLateCopy, AReleaseThatArrivesAfterItsSuccessorTakesNothingForThat) {
  Client mine = ready_client({.turn_handoffs = 0});
  // So long that the successor does not ask by itself before the connection is given up.
  Lock lock = mine.make_lock("a", {.lease = 10s});
  lock.lock();
  Worker worker;
  auto served = worker.start([&] { lock.lock(); });
  ASSERT_TRUE(worker.falls_asleep());
  keep_requests();
  static_cast<void>(lock.release());
  ASSERT_TRUE(comes(served));
  EXPECT_EQ(worker.run([&] { return lock.release(); }), Released::released);
  deliver();
  expect_soon_free(2s);
}

// Promise: S4
TEST_F(RedisLateCopy, ARenewalThatArrivesAfterTheReleaseBringsNothingBack) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", soon_over);
  lock.lock();
  keep_requests();
  ASSERT_TRUE(eventually([&] { return proxy().held() > 0; })) << "no renewal was due";
  const std::chrono::nanoseconds left = lock.valid_for();
  // By another connection it was renewed all the same.
  EXPECT_TRUE(eventually([&] { return lock.valid_for() > left; }));
  EXPECT_EQ(lock.release(), Released::released);
  deliver();
  expect_soon_free();
}

// The inbox of a new client came up while its first try was under way, and all that was undecided
// was asked for once more: the copy took the lock when its holder had freed it, for nobody. Whoever
// came just then was told that it is held.
TEST_F(RedisLateCopy, OfATryThereIsNone) {
  constexpr int rounds = 150;
  for (int round = 0; round < rounds; ++round) {
    Client mine(proxy().url());
    Client other(proxy().url());
    Lock lock = mine.make_lock("tried");
    Lock theirs = other.make_lock("tried");
    ASSERT_TRUE(lock.try_lock()) << round;
    EXPECT_FALSE(theirs.try_lock()) << round;
    EXPECT_FALSE(theirs.try_lock()) << round;
    lock.unlock();
    ASSERT_TRUE(lock.try_lock()) << "a copy has it, round " << round;
    lock.unlock();
  }
}

}  // namespace
}  // namespace mortise::fault
