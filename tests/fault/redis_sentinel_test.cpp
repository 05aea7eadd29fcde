// SPDX-License-Identifier: MIT
// Goal: with sentinels a client finds the master, keeps its time while there is none, and goes on
// with the next one. Method: real servers and sentinels, which are killed, stopped, cut off and
// told to change places, while locks are held and waited for. How long a client takes to follow is
// counted by its own clock, in redis_sentinel_pace_test.cpp.
#include "fault/redis_sentinel_fixture.hpp"

#include <algorithm>

namespace mortise::fault {
namespace {

class RedisSentinel : public RedisSentinelTest {
 protected:
  /// A client that holds the name, with its inbox.
  void expect_works(Client& mine, const std::string& name) {
    Lock lock = mine.make_lock(name);
    std::error_code error;
    ASSERT_TRUE(lock.try_lock_for(patience, error)) << error.message();
    EXPECT_EQ(lock.release(), Released::released);
  }
};

// Promise: L7
TEST_F(RedisSentinel, AnyOneThatIsDownIsPassedOver) {
  for (std::size_t down = 0; down < 3; ++down) {
    servers().sentinel(down).kill();
    Client mine = client();
    EXPECT_LT(own_duration_of([&] { mine.check(10s); }), 1s) << down;
    servers().sentinel(down).start();
  }
  servers().sentinel(0).stop();
  Client mine = client();
  EXPECT_LT(own_duration_of([&] { mine.check(10s); }), 1s) << "it stands still";
  servers().sentinel(0).resume();
}

TEST_F(RedisSentinel, OneIsEnoughToFindTheMaster) {
  servers().sentinel(0).kill();
  servers().sentinel(1).kill();
  Client mine = client();
  mine.check(10s);
  expect_works(mine, "a");
}

// Promise: L3, L7
TEST_F(RedisSentinel, WithoutAnyCallsKeepTheirTimeAndSayWhatEachSaid) {
  for (std::size_t i = 0; i < 3; ++i) servers().sentinel(i).kill();
  Client mine = client();
  Lock lock = mine.make_lock("a");
  std::error_code error;
  EXPECT_LT(own_duration_of([&] { static_cast<void>(lock.try_lock_for(300ms, error)); }),
            300ms + allowance + slack);
  EXPECT_TRUE(error == Errc::unavailable) << error.message();
  const Failure failure = failure_of([&] { mine.check(500ms); });
  EXPECT_EQ(failure.code, Errc::unavailable);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(failure.text, HasSubstr(std::to_string(servers().sentinel(i).port())));
  }
  servers().sentinel(1).start();
  expect_works(mine, "a");
}

// It is served while the sentinels are down: they are asked again, and nobody is in a hurry.
TEST_F(RedisSentinel, AMasterThatIsThereIsKeptThoughAllSentinelsAreDown) {
  Client mine = client();
  expect_works(mine, "a");
  for (std::size_t i = 0; i < 3; ++i) servers().sentinel(i).kill();
  const Guard guard(mine.make_lock("a", {.lease = 900ms}));
  // Several renewals, and a look at the sentinels, one of which there is in a second.
  const auto deadline = [&] { return std::chrono::steady_clock::now() + guard.valid_for(); };
  const auto before = deadline();
  EXPECT_TRUE(eventually([&] { return deadline() > before + 1200ms; }));
  EXPECT_GT(guard.valid_for(), 0ns);
  EXPECT_FALSE(guard.lost().stop_requested());
}

// Sentinels that are just being set up do not know their masters yet: so it may pass.
TEST_F(RedisSentinel, AMasterThatNobodyKnowsIsUnavailableInWords) {
  std::string url = servers().url();
  url.replace(url.find("mymaster"), 8, "mymasster");
  Client mine(url);
  const Failure failure = failure_of([&] { mine.check(1s); });
  EXPECT_EQ(failure.code, Errc::unavailable);
  EXPECT_THAT(failure.text, HasSubstr("the sentinel does not know that master"));
  EXPECT_THAT(failure.text, HasSubstr("'mymasster'"));
  servers().sentinel(2).talk().expect_ok(
      {"SENTINEL", "MONITOR", "mymasster", "127.0.0.1", std::to_string(servers()[0].port()), "2"});
  expect_works(mine, "a");
}

// Promise: L3
TEST_F(RedisSentinel, AKilledMasterIsReplacedUnderWhoeverWaits) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 3s});
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(eventually([&] { return waiting(0, "a") == 1; }));
  const Token token = lock.token();
  const std::stop_token lost = lock.lost();
  servers()[0].kill();
  ASSERT_TRUE(servers().comes_to_another(0));
  EXPECT_TRUE(eventually([&] { return connections_at_master() >= 3; }))
      << "commands and an inbox of each, but who has no need for one";
  // Either its hold was known to the replica, and goes on; or it is told of its loss in time.
  if (!lost.stop_requested()) {
    EXPECT_EQ(lock.release(), Released::released);
  }
  ASSERT_TRUE(comes(served));
  EXPECT_GT(served.get(), token);
  EXPECT_EQ(waiter.release(), Released::released);
}

// Promise: L3
TEST_F(RedisSentinel, AMasterThatStandsStillIsReplacedAndNotBelievedWhenItGoesOn) {
  Client mine = client();
  expect_works(mine, "first");
  Party waiter(client(), "a");
  servers()[0].stop();
  auto served = waiter.start();
  ASSERT_TRUE(servers().comes_to_another(0));
  ASSERT_TRUE(comes(served)) << "its time was spent on the one that stands still";
  const std::size_t now = *servers().master();
  EXPECT_TRUE(is_held(now, "a"));
  servers()[0].resume();
  expect_works(mine, "b");
  // It comes back as a replica; until then it says that it is a master.
  EXPECT_TRUE(eventually([&] { return servers().is_whole(); }));
  // It takes the connections that were made while it stood still, and is left at its first word.
  EXPECT_TRUE(eventually([&] { return connections_at(0) == 0; }));
  EXPECT_EQ(waiter.release(), Released::released);
}

// Promise: S2, L3
TEST_F(RedisSentinel, APlannedFailOverLosesNoHoldAndServesEachWaiter) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 6s});
  lock.lock();
  Token last = lock.token();
  Party first(client(), "a");
  Party second(client(), "a");
  auto one = first.start();
  ASSERT_TRUE(eventually([&] { return waiting(0, "a") == 1; }));
  auto two = second.start();
  ASSERT_TRUE(eventually([&] { return waiting(0, "a") == 2; }));
  servers().fail_over();
  ASSERT_TRUE(eventually([&] { return connections_at_master() >= 5; }));
  // By a renewal that reaches the new one.
  const auto deadline = [&] { return std::chrono::steady_clock::now() + lock.valid_for(); };
  const auto before = deadline();
  EXPECT_TRUE(eventually([&] { return deadline() > before + 1s; }, 6s));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_TRUE(comes(one));
  EXPECT_GT(one.get(), last);
  last = first.run([&] { return first.lock().token(); });
  EXPECT_EQ(first.release(), Released::released);
  ASSERT_TRUE(comes(two));
  EXPECT_GT(two.get(), last);
  EXPECT_EQ(second.release(), Released::released);
}

// The sentinels leave it alone for eight seconds, as they do by default, and it serves whoever
// asks.
TEST_F(RedisSentinel, AnOldMasterThatGoesOnIsLeftAsSoonAsAnotherIsNamed) {
  RedisSentinelsOptions options;
  options.old_master_goes_on = 8s;
  static_cast<void>(servers(options));
  Client mine = client();
  expect_works(mine, "a");
  servers().fail_over();
  EXPECT_TRUE(eventually([&] { return connections_at_master() >= 2 && connections_at(0) == 0; }));
  EXPECT_EQ(servers()[0].talk().info("replication")["role"], "master") << "or it proves nothing";
  expect_works(mine, "a");
}

// Promise: L7
TEST_F(RedisSentinel, SentinelsWithPasswordsOfTheirOwnAreAskedWithThem) {
  RedisSentinelsOptions options;
  options.sentinel.password = "Xu8-watch";
  static_cast<void>(servers(options));
  ASSERT_EQ(::setenv("MORTISE_TEST_SENTINEL", "Xu8-watch", 1), 0);
  Client mine = client({}, "sentinel-password-env=MORTISE_TEST_SENTINEL");
  expect_works(mine, "a");
  ASSERT_EQ(::setenv("MORTISE_TEST_SENTINEL", "Xu8-wrong", 1), 0);
  for (const char* const parameters : {"", "sentinel-password-env=MORTISE_TEST_SENTINEL"}) {
    Client refused = client({}, parameters);
    const Failure failure = failure_of([&] { refused.check(1s); });
    EXPECT_EQ(failure.code, Errc::denied) << failure.text;
    EXPECT_THAT(failure.text, Not(HasSubstr("Xu8")));
  }
  ::unsetenv("MORTISE_TEST_SENTINEL");
}

TEST_F(RedisSentinel, ARightThatTheSentinelsUserLacksIsNamed) {
  RedisSentinelsOptions options;
  options.sentinels = 1;
  options.replicas = 1;
  options.sentinel.users = {"watch on >Xu8-watch -@all +sentinel|master"};
  static_cast<void>(servers(options));
  ASSERT_EQ(::setenv("MORTISE_TEST_SENTINEL", "Xu8-watch", 1), 0);
  const char* const parameters = "sentinel-user=watch&sentinel-password-env=MORTISE_TEST_SENTINEL";
  Client mine = client({}, parameters);
  Failure failure;
  EXPECT_LT(own_duration_of([&] { failure = failure_of([&] { mine.check(10s); }); }), 1s);
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("user 'watch' needs +sentinel|get-master-addr-by-name: "));
  EXPECT_THAT(failure.text, Not(HasSubstr("Xu8")));
  RedisTalk sentinel = servers().sentinel(0).talk();
  sentinel.expect_ok({"ACL", "SETUSER", "watch", "-@all", "+sentinel|get-master-addr-by-name"});
  expect_works(mine, "a");
  ::unsetenv("MORTISE_TEST_SENTINEL");
}

// The parameter and the reason; the words of the code once, at the end. Not the file: somebody may
// have put the password itself there.
TEST_F(RedisSentinelTest, PasswordFilesThatCannotBeReadAreNamed) {
  for (const std::string which : {"password-file", "sentinel-password-file"}) {
    Client mine = client({}, which + "=/no/such/file");
    const Failure failure = failure_of([&] { mine.check(5s); });
    EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
    const std::string all =
        ": the file given by " + which + " cannot be read: No such file or directory";
    EXPECT_THAT(failure.text, HasSubstr(all));
    EXPECT_EQ(failure.text.find("misconfigured"), failure.text.rfind("misconfigured"))
        << failure.text;
  }
}

}  // namespace
}  // namespace mortise::fault
