// SPDX-License-Identifier: MIT
// Goal: with replicas=n nobody is told of a grant that goes with the master, and a fail-over makes
// no second holder; without it the page says what is lost, and that is so. Method: a pair under
// sentinels, whose replica is stopped or cut off, and whose master is killed.
#include "fault/redis_sentinel_fixture.hpp"
#include "support/redis_fields.hpp"

#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

constexpr const char* one = "replicas=1";

class RedisReplicas : public RedisSentinelTest {
 protected:
  void SetUp() override {
    RedisSentinelTest::SetUp();
    if (!IsSkipped()) pair();
  }
  void pair(std::chrono::milliseconds old_master_goes_on = 800ms) {
    RedisSentinelsOptions options;
    options.replicas = 1;
    options.old_master_goes_on = old_master_goes_on;
    static_cast<void>(servers(options));
  }
  [[nodiscard]] std::string grant_at(std::size_t server, const std::string& name) {
    return servers()[server]
        .talk()
        .command({"HGET", redis::lock_key("mortise:", name), test::stored_field("grant")})
        .text;
  }
  /// The replica loses its master, and does not get it back: what is written now is there alone.
  void sever() {
    RedisTalk talk = servers()[0].talk();
    talk.expect_ok({"CONFIG", "SET", "requirepass", "nobody"});
    talk.expect_ok({"CLIENT", "KILL", "TYPE", "replica"});
    ASSERT_TRUE(eventually(
        [&] { return servers()[1].talk().info("replication")["master_link_status"] == "down"; }));
  }
  /// The master is killed as soon as it has granted a lock, which has to stand.
  /// @return whether the sentinels came to replace it
  [[nodiscard]] bool expect_a_kill_takes_nothing() {
    RedisSentinelsOptions options;
    options.replicas = 1;
    RedisSentinels all(options);
    Client mine(all.url(one));
    Client other(all.url(one), {.give_up = 2min});
    Lock lock = mine.make_lock("a", {.lease = 2min});  // longer than the sentinels ever take
    Lock theirs = other.make_lock("a");
    EXPECT_TRUE(other.make_lock("b").try_lock());
    lock.lock();
    all[0].kill();
    const Token token = lock.token();
    std::error_code error;
    // It waits all the while, and must not be served before the release.
    Worker worker;
    auto served = worker.start([&] {
      theirs.lock();
      return theirs.token();
    });
    if (!all.comes_to_another(0)) {
      other.close();
      return false;
    }
    all[0].start();  // without a replica nobody would be told anything
    EXPECT_TRUE(eventually([&] { return all.is_whole(); }));
    EXPECT_FALSE(comes_within(served, 0ms)) << "two holders";
    EXPECT_GT(lock.valid_for(), 0ns);
    EXPECT_FALSE(lock.lost().stop_requested());
    // A machine that is busy may not have the answer in time; that it was freed the waiter tells,
    // long before the end of the lease.
    EXPECT_NE(lock.release(error), Released::was_lost) << error.message();
    EXPECT_TRUE(comes(served)) << "it was not freed";
    if (!comes(served, 0ms)) {
      other.close();
      return true;
    }
    EXPECT_GT(served.get(), token);
    worker.run([&] { theirs.unlock(); });
    return true;
  }
};

class RedisReplicasLong : public RedisReplicas {};

// Promise: S1
TEST_F(RedisReplicas, WhatIsToldTheReplicaHas) {
  Client mine = client({}, one);
  Lock lock = mine.make_lock("a");
  for (int i = 0; i < 50; ++i) {
    lock.lock();
    const std::string there = grant_at(1, "a");
    EXPECT_EQ(there, grant_at(0, "a")) << i;
    EXPECT_FALSE(there.empty());
    lock.unlock();
  }
}

// Promise: S1, L3
TEST_F(RedisReplicas, WithoutThemNobodyIsToldAndTheWordsSaySo) {
  Client mine = client({}, one);
  Lock lock = mine.make_lock("a");
  lock.lock();
  lock.unlock();
  servers()[1].stop();
  Failure failure;
  EXPECT_LT(own_duration_of([&] {
              failure = failure_of([&] { static_cast<void>(lock.try_lock_for(2500ms)); });
            }),
            2500ms + allowance + slack);
  // In doubt where it is just granted again, to nobody, when the caller's time is up.
  EXPECT_TRUE(failure.code == Errc::unavailable || failure.code == Errc::in_doubt) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("0 of 1 replicas"));
  EXPECT_TRUE(eventually([&] { return !is_held(0, "a"); })) << "it is given back";
  servers()[1].resume();
  failure = failure_of([&] { EXPECT_TRUE(lock.try_lock_for(patience)); });
  ASSERT_FALSE(failure) << failure.text;
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(RedisReplicas, WithoutThemTheCheckSaysThatNoLockCanBeTaken) {
  Client mine = client({}, one);
  EXPECT_NO_THROW(mine.check(patience));
  servers()[1].stop();
  const Failure failure = failure_of([&] { mine.check(1500ms); });
  EXPECT_EQ(failure.code, Errc::unavailable);
  EXPECT_THAT(failure.text, HasSubstr("0 of 1 replicas"));
  servers()[1].resume();
  EXPECT_NO_THROW(mine.check(patience));
}

// It would ask, and write, once a second until there is a replica again.
TEST_F(RedisReplicas, ACheckWhoseCallerHasGoneIsNotRepeated) {
  Client mine = client({}, one);
  mine.check(patience);
  servers()[1].stop();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(failure_of([&] { mine.check(100ms); }).code, Errc::unavailable);
  }
  RedisTalk talk = servers()[0].talk();
  const auto asked = [&] { return talk.command_stats()["evalsha"]; };
  // What was sent is answered in a second, and what follows from it is asked at once.
  const std::uint64_t before = asked();
  EXPECT_FALSE(happens_within([&] { return asked() != before; }, 2500ms));
  servers()[1].resume();
}

// Promise: S1
TEST_F(RedisReplicas, AWaiterIsServedOnlyWhereTheReplicaHasItToo) {
  Client mine = client({}, one);
  Lock lock = mine.make_lock("a");
  Party waiter(client({}, one), "a");
  for (int i = 0; i < 5; ++i) {
    lock.lock();
    auto served = waiter.start();
    ASSERT_TRUE(eventually([&] { return waiting(0, "a") == 1; }));
    lock.unlock();
    ASSERT_TRUE(comes(served));
    EXPECT_EQ(grant_at(1, "a"), grant_at(0, "a")) << i;
    EXPECT_EQ(waiter.release(), Released::released);
  }
  lock.lock();
  auto served = waiter.start();
  ASSERT_TRUE(eventually([&] { return waiting(0, "a") == 1; }));
  servers()[1].stop();
  lock.unlock();
  // It is granted to it at the master again and again, and given back.
  std::set<std::string> grants;
  ASSERT_TRUE(eventually([&] {
    grants.insert(grant_at(0, "a"));
    return grants.size() > 3;
  }));
  EXPECT_FALSE(comes_within(served, 0ms));
  servers()[1].resume();
  ASSERT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
}

// Promise: S1, S6
TEST_F(RedisReplicas, ARenewalThatTheReplicaHasNotMovesNoDeadline) {
  Client mine = client({}, one);
  Lock lock = mine.make_lock("a", {.lease = 1500ms});
  lock.lock();
  const auto deadline = [&] { return std::chrono::steady_clock::now() + lock.valid_for(); };
  const auto first = deadline();
  ASSERT_TRUE(eventually([&] { return deadline() > first + 800ms; }))
      << "it is renewed, twice at least, while the replica is there";
  ASSERT_FALSE(lock.lost().stop_requested());
  servers()[1].stop();
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, 1500ms + slack));
  EXPECT_EQ(lock.valid_for(), 0ns);
  static_cast<void>(lock.release());
}

// Promise: S1
TEST_F(RedisReplicas, WithoutTheOptionAKilledMasterMayTakeAGrantWithIt) {
  Client mine = client();
  Client other = client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  Lock theirs = other.make_lock("a");
  for (Client* each : {&mine, &other}) {
    Lock first = each->make_lock("first");
    first.lock();
    first.unlock();
  }
  sever();
  lock.lock();
  servers()[0].kill();
  ASSERT_TRUE(servers().comes_to_another(0));
  EXPECT_TRUE(theirs.try_lock_for(patience)) << "docs/stores/redis-ha.md: two holders";
  EXPECT_GT(theirs.token(), lock.token());
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, 20s / 3 + 1s))
      << "until the first one's next renewal";
  theirs.unlock();
  static_cast<void>(lock.release());
}

// Promise: S1
TEST_F(RedisReplicas, AKilledMasterTakesNoGrantWithIt) {
  ASSERT_TRUE(expect_a_kill_takes_nothing());
}

TEST_F(RedisReplicasLong, AKilledMasterTakesNoGrantWithItInTwoHundredTries) {
  int tries = 0;
  int never = 0;  // that the sentinels of a busy machine agree upon another one
  while (tries < 200 && !HasFailure()) expect_a_kill_takes_nothing() ? ++tries : ++never;
  EXPECT_LT(never, 20);
  RecordProperty("tries", tries);
  RecordProperty("never", never);
}

// Promise: S1
TEST_F(RedisReplicas, AnOldMasterGrantsNothingOnceItsReplicaHasItsPlace) {
  Client old("redis://127.0.0.1:" + std::to_string(servers()[0].port()) + "?" + one);
  Lock lock = old.make_lock("a");
  lock.lock();
  lock.unlock();
  // By hand, so that nobody tells the old one.
  for (std::size_t i = 0; i < 3; ++i) servers().sentinel(i).kill();
  servers()[1].talk().expect_ok({"REPLICAOF", "NO", "ONE"});
  std::error_code error;
  EXPECT_FALSE(lock.try_lock_for(1s, error));
  // It had been granted there, to nobody: no answer said that this is over when its time was.
  EXPECT_TRUE(error == Errc::unavailable || error == Errc::in_doubt) << error.message();
}

TEST_F(RedisReplicas, WithoutTheRightItIsDeniedInWords) {
  // docs/stores/redis.md, "Permissions".
  std::istringstream words(
      "ACL SETUSER shop on >Xu8 resetkeys resetchannels ~mortise:* &mortise:inbox:* -@all +auth "
      "+select +info +client|setname +subscribe +unsubscribe +publish +eval +evalsha +time +hget "
      "+hmget +hset +hdel +hincrby +pexpire +pttl +zadd +zrem +zrange +zscore +zrank +zcard "
      "+zcount");
  using Word = std::istream_iterator<std::string>;
  servers()[0].talk().expect_ok(RedisTalk::Command(Word(words), Word()));
  Client mine("redis://shop:Xu8@127.0.0.1:" + std::to_string(servers()[0].port()) + "?" + one);
  Lock lock = mine.make_lock("a");
  const Failure failure = failure_of([&] { static_cast<void>(lock.try_lock_for(2s)); });
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("; user 'shop' needs +wait"));
  EXPECT_TRUE(eventually([&] { return !is_held(0, "a"); }));
  servers()[0].talk().expect_ok({"ACL", "SETUSER", "shop", "+wait"});
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
}

// Many that are granted at once share what is asked of the replicas.
TEST_F(RedisReplicas, OneQuestionIsAboutAllThatWereGranted) {
  Client mine = client({}, one);
  ASSERT_TRUE(mine.make_lock("first").try_lock());
  servers()[0].talk().expect_ok({"CONFIG", "RESETSTAT"});
  constexpr int threads = 16;
  constexpr int each = 25;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&mine, i] {
      Lock lock = mine.make_lock(std::to_string(i));
      for (int left = each; left > 0; --left) {
        lock.lock();
        lock.unlock();
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  const auto stats = servers()[0].talk().command_stats();
  const std::uint64_t waits = stats.at("wait");
  EXPECT_LT(waits, std::uint64_t{threads} * each);
  EXPECT_GT(waits, 0U);
}

}  // namespace
}  // namespace mortise::fault
