// SPDX-License-Identifier: MIT
// Goal: servers and modes that differ from the plain one: refused in words where they cannot work,
// and keeping their promises where they can. Method: configurations, and the other side of the
// interop mode played with Redisson's published commands.
#include "fault/redis_fixture.hpp"
#include "fault/redisson.hpp"

#include <atomic>
#include <thread>

namespace mortise::fault {
namespace {

class RedisServers : public RedisTest {
 protected:
  void serve(const std::vector<std::string>& lines) {
    RedisServerOptions options;
    options.lines = lines;
    static_cast<void>(server(options));
  }
};

TEST_F(RedisServers, ThatEvictKeysAreMisconfiguredUnlessThatIsAccepted) {
  serve({"maxmemory-policy allkeys-lru"});
  Client mine = client();
  Failure failure;
  EXPECT_LT(own_duration_of([&] { failure = failure_of([&] { mine.check(10s); }); }), 1s);
  EXPECT_EQ(failure.code, Errc::misconfigured);
  EXPECT_THAT(failure.text, HasSubstr("allkeys-lru"));
  EXPECT_THAT(failure.text, HasSubstr("noeviction"));
  Lock lock = mine.make_lock("a");
  EXPECT_EQ(failure_of([&] { lock.lock(); }).code, Errc::misconfigured);
  Client accepts(server().url() + "?eviction=accepted");
  Lock also = accepts.make_lock("a");
  EXPECT_TRUE(also.try_lock_for(patience));
  EXPECT_EQ(also.release(), Released::released);
}

TEST_F(RedisServers, WithoutTheDatabaseThatIsWantedAreMisconfigured) {
  Client mine(server().url() + "/99");
  Lock lock = mine.make_lock("a");
  Failure failure;
  EXPECT_LT(own_duration_of([&] { failure = failure_of([&] { lock.lock(); }); }), 1s);
  EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("DB index"));
}

TEST_F(RedisServers, WithoutTlsLeaveItsHandshakeUnanswered) {
  Client mine("rediss://127.0.0.1:" + std::to_string(server().port()));
  const Failure failure = failure_of([&] { mine.check(4s); });  // it is given up after two
  EXPECT_EQ(failure.code, Errc::unavailable);
  EXPECT_THAT(failure.text,
              HasSubstr("did not answer the TLS handshake in time; is this a TLS port?"));
}

TEST_F(RedisServers, ThatBelongToAClusterAreMisconfigured) {
  serve({"cluster-enabled yes"});
  Client mine = client();
  const Failure failure = failure_of([&] { mine.check(10s); });
  EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("cluster"));
}

TEST_F(RedisServers, OfOtherKindsAreRefusedByTheirUrl) {
  for (const char* const url : {"redis+cluster://:Xu8-secret@127.0.0.1:7000?replicas=1",
                                "redis+cluster://:Xu8-secret@127.0.0.1:7000?interop=redisson"}) {
    const Failure failure = failure_of([&] { const Client refused(url); });
    EXPECT_EQ(failure.code, Errc::unsupported) << failure.text;
    EXPECT_THAT(failure.text, Not(HasSubstr("Xu8-secret")));
  }
}

TEST_F(RedisServers, ThatFailSayNoPasswords) {
  const std::string url = "redis://shop:Xu8-secret@127.0.0.1:";
  Proxy proxy(server().port());
  const auto record = std::make_shared<Record>();
  Client mine(url + std::to_string(proxy.port()), {.give_up = 100ms, .observer = record});
  Lock lock = mine.make_lock("a");
  const auto expect_silence = [&](const char* what) {
    const Failure failure = failure_of([&] { static_cast<void>(lock.try_lock_for(150ms)); });
    EXPECT_TRUE(failure) << what;
    EXPECT_THAT(failure.text, Not(HasSubstr("Xu8"))) << what;
  };
  expect_silence("wrong password");
  proxy.refuse(true);
  proxy.cut_all();
  expect_silence("refused");
  proxy.refuse(false);
  proxy.reset_new(true);
  expect_silence("reset");
  proxy.reset_new(false);
  proxy.blackhole(true);
  expect_silence("silent");
  proxy.heal();
  proxy.garbage("-ERR no\r\n");
  expect_silence("rubbish");
  for (const auto& entry : record->all(Record::Kind::failed)) {
    EXPECT_THAT(entry.why.text, Not(HasSubstr("Xu8")));
  }
}

TEST_F(RedisServers, InModeUnfairServeAWaiterWithinSixteenReleases) {
  const std::string url = server().url() + "?fair=no";
  Client mine(url);
  Lock lock = mine.make_lock("a");
  lock.lock();
  Party waiter(Client(url), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  int releases = 0;
  do {
    lock.unlock();
    ++releases;
  } while (releases <= 16 && lock.try_lock());
  if (lock.hold_count() > 0) lock.unlock();
  EXPECT_LE(releases, 16);
  EXPECT_TRUE(comes(served, 1s));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

class RedisInterop : public RedisTest {
 protected:
  [[nodiscard]] Client ours() { return Client(server().url() + "?interop=redisson"); }
  /// @return how many listen to Redisson's channel of that name.
  [[nodiscard]] std::int64_t listeners(const std::string& name = "a") {
    return server()
        .talk()
        .command({"PUBSUB", "NUMSUB", "redisson_lock__channel:{" + name + "}"})
        .items.at(1)
        .integer;
  }
};

TEST_F(RedisInterop, EachSideKeepsTheOtherOut) {
  Redisson java(server());
  java.listen();
  Client mine = ours();
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(java.try_lock());
  EXPECT_TRUE(java.try_lock()) << "it re-enters";
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(java.unlock());
  EXPECT_FALSE(lock.try_lock());
  EXPECT_TRUE(java.unlock());
  EXPECT_TRUE(java.hears(patience)) << "of itself";
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(java.try_lock());
  EXPECT_FALSE(java.unlock()) << "it freed what is ours";
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(java.hears(patience)) << "its waiters are told";
  EXPECT_TRUE(java.try_lock());
}

TEST_F(RedisInterop, OurWaiterWakesOnTheirWordAndNotByAsking) {
  Redisson java(server());
  ASSERT_TRUE(java.try_lock());
  Party waiter(ours(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(eventually([&] { return listeners() == 1; }));
  ASSERT_TRUE(asks_again("a"));  // so that the next time would be a second from now
  EXPECT_TRUE(java.unlock());
  EXPECT_TRUE(comes(served, 500ms));
  EXPECT_FALSE(java.try_lock());
  EXPECT_EQ(waiter.release(), Released::released);
  EXPECT_TRUE(java.try_lock());
}

// Nobody tells it: it asked before, and its subscription came after.
TEST_F(RedisInterop, OurWaiterFindsWhatTheyFreedBeforeItListened) {
  Proxy proxy(server().port());
  Redisson java(server());
  ASSERT_TRUE(java.try_lock());
  Party waiter(Client(proxy.url() + "?interop=redisson"), "a");
  Lock first = waiter.client().make_lock("first");
  ASSERT_TRUE(first.try_lock());
  first.unlock();
  ASSERT_TRUE(eventually([&] { return proxy.connections(Proxy::Connections::inboxes) == 1; }));
  proxy.hold_requests(true, Proxy::Connections::inboxes);
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  ASSERT_TRUE(eventually([&] { return proxy.held() == 2; })) << "a probe, and the subscription";
  EXPECT_TRUE(java.unlock());
  EXPECT_EQ(listeners(), 0);
  proxy.release_held();
  EXPECT_TRUE(comes(served, 500ms)) << "it has asked when a second was over";
  EXPECT_EQ(waiter.release(), Released::released);
}

// Until the server knows that it is one of ours who listens, each release keeps the lock for it.
TEST_F(RedisInterop, OurWaiterIsKnownAsOneOfOursAsSoonAsItListens) {
  Client mine = ours();
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(lock.try_lock());
  Party waiter(ours(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  EXPECT_TRUE(
      eventually([&] { return field("a", "redisson_listener") == first_attempt("a"); }, 500ms))
      << "it was said when a second was over";
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(field("a", "reserved_until"), "") << "it is kept for somebody";
  EXPECT_TRUE(comes(served, 500ms));
  EXPECT_EQ(waiter.release(), Released::released);
}

// It was silent, and dropped from the queue; another one of ours is the first by the time it asks
// again.
TEST_F(RedisInterop, WhoHasLostTheFirstPlaceListensNoMore) {
  Redisson java(server());
  ASSERT_TRUE(java.try_lock());
  Party first(ours(), "a");
  auto served = first.start();
  ASSERT_TRUE(eventually([&] { return listeners() == 1; }));
  ASSERT_TRUE(asks_again("a"));  // the next time is a second from now
  EXPECT_EQ(waiting("a"), 1U);
  server().talk().expect_ok({"DEL", key("a") + ":queue", key("a") + ":waiters"});
  Party second(ours(), "a");
  auto next = second.start();
  ASSERT_TRUE(come_to_wait("a", 2));
  EXPECT_TRUE(eventually([&] { return listeners() == 1; }));
  EXPECT_TRUE(java.unlock());
  EXPECT_TRUE(comes(next));
  EXPECT_EQ(second.release(), Released::released);
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(first.release(), Released::released);
}

// Its renewal would tell only after a third of 30 s.
TEST_F(RedisInterop, OurHolderLearnsOfAForcedUnlockAtOnce) {
  Redisson java(server());
  Client mine = ours();
  Lock lock = mine.make_lock("a");
  // As soon as it is taken, and once it has been held for a while.
  for (const auto held_for : {0ms, 300ms}) {
    ASSERT_TRUE(lock.try_lock_for(patience));
    const std::stop_token lost = lock.lost();
    std::this_thread::sleep_for(held_for);
    EXPECT_FALSE(lost.stop_requested());
    EXPECT_TRUE(java.force_unlock());
    EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }, 100ms + slack));
    EXPECT_EQ(lock.valid_for(), 0ns);
    EXPECT_EQ(lock.release(), Released::was_lost);
  }
}

// Both holds are looked at when their time has come, and each by its own channel.
TEST_F(RedisInterop, OurHolderLearnsWhichOfItsTwoHoldsWasUnlockedByForce) {
  Redisson java(server(), "b");
  Client mine = ours();
  Lock first = mine.make_lock("a");
  Lock second = mine.make_lock("b");
  ASSERT_TRUE(first.try_lock_for(patience));
  ASSERT_TRUE(second.try_lock_for(patience));
  const std::stop_token first_lost = first.lost();
  const std::stop_token second_lost = second.lost();
  ASSERT_TRUE(eventually([&] { return listeners("a") == 1 && listeners("b") == 1; }));
  EXPECT_TRUE(java.force_unlock());
  EXPECT_TRUE(eventually([&] { return second_lost.stop_requested(); }, 100ms + slack));
  EXPECT_EQ(second.release(), Released::was_lost);
  EXPECT_TRUE(eventually([&] { return listeners("b") == 0; }));
  EXPECT_FALSE(first_lost.stop_requested());
  EXPECT_TRUE(is_held("a"));
  EXPECT_EQ(first.release(), Released::released);
}

TEST_F(RedisInterop, OurHolderLearnsOfAForcedUnlockAlsoByAnotherInbox) {
  Redisson java(server());
  Client mine = ours();
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  const std::stop_token lost = lock.lost();
  EXPECT_TRUE(eventually([&] { return listeners() == 1; }));
  // Whatever is unlocked meanwhile is heard by nobody.
  server().talk().expect_ok({"CLIENT", "KILL", "TYPE", "pubsub"});
  EXPECT_TRUE(java.force_unlock());
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }, 3s));
  EXPECT_EQ(lock.release(), Released::was_lost);
}

// Redisson's waiters have the lock kept for them after a release: a holder that listens is none.
TEST_F(RedisInterop, OurHolderThatListensKeepsNothingFromOurs) {
  Client mine = ours();
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_TRUE(eventually([&] { return listeners() == 1; }));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(field("a", "reserved_until"), "") << "it is kept for somebody";
  EXPECT_TRUE(eventually([&] { return listeners() == 0; }));
}

// Each release of Redisson's would have all of ours ask; and each of ours would be taken for one of
// its waiters, for whom the lock is kept.
TEST_F(RedisInterop, OnlyTheFirstOfOursListensToTheirWord) {
  Redisson java(server());
  ASSERT_TRUE(java.try_lock());
  Party first(ours(), "a");
  auto served = first.start();
  ASSERT_TRUE(come_to_wait("a"));
  Party second(ours(), "a");
  auto also = second.start();
  ASSERT_TRUE(come_to_wait("a", 2));
  ASSERT_TRUE(eventually([&] { return listeners() == 1; }));
  for (int asked = 0; asked < 4; ++asked) {
    ASSERT_TRUE(asks_again("a"));
    EXPECT_EQ(listeners(), 1) << asked;
  }
  EXPECT_TRUE(java.unlock());
  ASSERT_TRUE(comes(served));
  EXPECT_TRUE(eventually([&] { return listeners() == 2; })) << "who holds, and the next one";
  EXPECT_EQ(first.release(), Released::released);
  ASSERT_TRUE(comes(also));
  EXPECT_TRUE(eventually([&] { return listeners() == 1; }));
  EXPECT_EQ(second.release(), Released::released);
  EXPECT_TRUE(eventually([&] { return listeners() == 0; }));
}

TEST_F(RedisInterop, LeasesEndForBothSides) {
  Redisson java(server());
  ASSERT_TRUE(java.try_lock("500"));
  Client mine = ours();
  Lock lock = mine.make_lock("a", {.lease = 500ms, .renew = false});
  EXPECT_TRUE(taken_within(lock, 500ms + 1s));
  EXPECT_TRUE(eventually([&] { return java.try_lock(); }, 500ms + slack));
  EXPECT_EQ(lock.valid_for(), 0ns) << "two held the lock";
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_FALSE(lock.try_lock());
  EXPECT_TRUE(java.unlock());
}

TEST_F(RedisInterop, MixedWorkersNeverOverlap) {
  constexpr int grants = 150;
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  const auto work = [&] {
    if (inside.fetch_add(1) != 0) overlaps.fetch_add(1);
    std::this_thread::yield();
    inside.fetch_sub(1);
  };
  Redisson java(server());
  java.listen();
  std::thread theirs([&] {
    for (int i = 0; i < grants; ++i) {
      while (!java.try_lock()) static_cast<void>(java.hears(100ms));
      work();
      java.unlock();
    }
  });
  Client mine = ours();
  Lock lock = mine.make_lock("a");
  Token last;
  for (int i = 0; i < grants; ++i) {
    const Guard guard(lock);
    EXPECT_GT(guard.token(), last);
    last = guard.token();
    work();
  }
  theirs.join();
  EXPECT_EQ(overlaps.load(), 0);
}

}  // namespace
}  // namespace mortise::fault
