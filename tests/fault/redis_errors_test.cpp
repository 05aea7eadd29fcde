// SPDX-License-Identifier: MIT
// Goal: what a server refuses for the moment becomes `unavailable` or `exhausted` with the server's
// words, nothing is lost by it, and it passes. Method: a server is put into each such state by its
// own means.
#include "fault/redis_fixture.hpp"

namespace mortise::fault {
namespace {

class RedisErrors : public RedisTest {
 protected:
  void set(const std::string& what, const std::string& value) {
    server().talk().expect_ok({"CONFIG", "SET", what, value});
  }
  /// Tries until the error is that one. @return its words
  [[nodiscard]] static std::string words_of(Lock& lock, Errc code,
                                            std::chrono::milliseconds wait = 300ms) {
    std::string words = "nothing has failed";
    const bool came = eventually([&] {
      const Failure failure = failure_of([&] {
        if (lock.try_lock_for(wait)) lock.unlock();
      });
      if (failure) words = failure.text;
      return failure.code == code;
    });
    EXPECT_TRUE(came) << words;
    return words;
  }
  static void expect_works(Lock& lock) {
    const Guard guard(lock, {.wait = patience});
    EXPECT_TRUE(guard) << guard.error_text();
  }
};

TEST_F(RedisErrors, AKeyOfAnotherTypeIsAProtocolErrorAndStaysAsItIs) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  ASSERT_FALSE(server().talk().expect_ok({"SET", key("a"), "theirs"}).is_error());
  for (const auto wait : {0ms, 500ms, 60'000ms}) {
    Failure failure;
    const auto took = own_duration_of(
        [&] { failure = failure_of([&] { static_cast<void>(lock.try_lock_for(wait)); }); });
    EXPECT_EQ(failure.code, Errc::protocol) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("WRONGTYPE"));
    EXPECT_LT(took, 1s);
  }
  EXPECT_EQ(failure_of([&] { static_cast<void>(lock.holder()); }).code, Errc::protocol);
  EXPECT_EQ(server().talk().command({"GET", key("a")}).text, "theirs");
  EXPECT_EQ(server().talk().command({"TTL", key("a")}).integer, -1);
  Lock other = mine.make_lock("b");
  expect_works(other);
}

// Its request is answered, and so is what takes it back: nothing is in doubt.
TEST_F(RedisErrors, AKeyOfAnotherTypeDoesNotHoldUpTheEnd) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  server().talk().expect_ok({"SET", key("a"), "theirs"});
  EXPECT_EQ(failure_of([&] { static_cast<void>(lock.try_lock()); }).code, Errc::protocol);
  EXPECT_LT(own_duration_of([&] { mine.close(); }), 300ms);
}

TEST_F(RedisErrors, AKeyOfAnotherTypeInPlaceOfAHoldIsALossAndStaysAsItIs) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 900ms});
  lock.lock();
  server().talk().expect_ok({"SET", key("a"), "theirs"});
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, 900ms + allowance + slack));
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(server().talk().command({"GET", key("a")}).text, "theirs");
}

TEST_F(RedisErrors, AReplicaIsRefusedUntilItIsAMaster) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  expect_works(lock);
  RedisTalk talk = server().talk();
  talk.expect_ok({"REPLICAOF", "127.0.0.1", "1"});
  const std::string words = words_of(lock, Errc::unavailable);
  EXPECT_TRUE(words.find("READONLY") != std::string::npos ||
              words.find("not a master") != std::string::npos)
      << words;
  Client fresh = client();
  Failure failure = failure_of([&] { fresh.check(500ms); });
  EXPECT_EQ(failure.code, Errc::unavailable);
  EXPECT_THAT(failure.text, HasSubstr("not a master"));
  EXPECT_THAT(failure.text, HasSubstr("slave"));
  talk.expect_ok({"REPLICAOF", "NO", "ONE"});
  expect_works(lock);
  expect_free("a");
}

TEST_F(RedisErrors, AReplicaWithoutItsMasterSaysSoAndIsUnavailable) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  expect_works(lock);
  RedisTalk talk = server().talk();
  set("replica-serve-stale-data", "no");
  talk.expect_ok({"REPLICAOF", "127.0.0.1", "1"});
  const std::string words = words_of(lock, Errc::unavailable);
  EXPECT_THAT(words, HasSubstr("MASTERDOWN"));
  talk.expect_ok({"REPLICAOF", "NO", "ONE"});
  expect_works(lock);
}

TEST_F(RedisErrors, WithTooFewReplicasNothingIsGrantedNorPublished) {
  Client mine = client();
  Client other = client();
  Lock lock = mine.make_lock("a", {.lease = 900ms, .renew = false});
  lock.lock();
  Party waiter(client(), "a", {.lease = 6s});
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  RedisTalk hears = monitor();
  set("min-replicas-to-write", "1");
  Lock another = other.make_lock("b");
  EXPECT_THAT(words_of(another, Errc::unavailable), HasSubstr("NOREPLICAS"));
  std::error_code error;
  other.check(300ms, error);
  EXPECT_EQ(error, Errc::unavailable) << "no lock can be taken";
  // The holder's lease ends, and the waiter asks; nobody may be told what cannot be noted.
  ASSERT_TRUE(eventually([&] { return lock.valid_for() == 0ns; }));
  EXPECT_FALSE(hears.receive(1200ms)) << "a grant was published";
  EXPECT_FALSE(comes_within(served, 0s));
  set("min-replicas-to-write", "0");
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
  lock.unlock();
  expect_works(another);
  EXPECT_NO_THROW(other.check(patience));
  EXPECT_EQ(server().talk().command({"EXISTS", key("mortise.check")}).integer, 0)
      << "it leaves nothing";
  expect_free("a");
}

TEST_F(RedisErrors, TooManyConnectionsAreExhaustedAndItPasses) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  RedisTalk talk = server().talk();
  talk.expect_ok({"CONFIG", "SET", "maxclients", "1"});
  EXPECT_THAT(words_of(lock, Errc::exhausted), HasSubstr("max number of clients"));
  talk.expect_ok({"CONFIG", "SET", "maxclients", "100"});
  expect_works(lock);
}

TEST_F(RedisErrors, AServerThatLoadsItsDataIsWaitedFor) {
  RedisTalk talk = server().talk();
  talk.expect_ok({"EVAL",
                  "for i = 1, 4000 do redis.call('SET', 'k' .. i, string.rep('x', 100)) end "
                  "return redis.status_reply('OK')",
                  "0"});
  set("key-load-delay", "500");
  set("loading-process-events-interval-bytes", "1024");
  Client mine = client();
  Client other = client();
  Lock lock = mine.make_lock("a");
  Lock next = other.make_lock("b");
  expect_works(lock);
  expect_works(next);
  talk.send({"DEBUG", "RELOAD"});
  EXPECT_THAT(words_of(lock, Errc::unavailable, 150ms), HasSubstr("LOADING"));
  EXPECT_FALSE(talk.receive(0ms)) << "it had been loaded: nothing was tested";
  const Guard guard(next);  // without end: served when it is up
  EXPECT_TRUE(guard);
  ASSERT_TRUE(talk.receive(patience));
  expect_works(lock);
}

}  // namespace
}  // namespace mortise::fault
