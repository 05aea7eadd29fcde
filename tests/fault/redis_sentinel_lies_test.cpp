// SPDX-License-Identifier: MIT
// Goal: a sentinel that lies, or says nothing that makes sense, costs a moment and never a lock
// that two hold. Method: sentinels of the test's own making beside real ones.
#include "fault/redis_sentinel_fixture.hpp"
#include "support/fake_sentinel.hpp"

#include <vector>

namespace mortise::fault {
namespace {

using test::FakeSentinel;

class RedisSentinelLies : public RedisSentinelTest {
 protected:
  /// Asks the fake one first.
  [[nodiscard]] Client misled_client(ClientOptions options = {}) {
    const std::string url = servers().url();
    const std::string begin = "redis+sentinel://";
    return Client(
        begin + "127.0.0.1:" + std::to_string(fake_.port()) + "," + url.substr(begin.size()),
        std::move(options));
  }
  FakeSentinel fake_;
};

// Promise: S1
TEST_F(RedisSentinelLies, AReplicaThatIsNamedIsNotBelieved) {
  fake_.name(servers()[1].port(), 0);
  Client mine = misled_client();
  Lock lock = mine.make_lock("a");
  EXPECT_LT(own_duration_of([&] { lock.lock(); }), 2s);
  EXPECT_GT(fake_.asked(), 0U);
  EXPECT_TRUE(is_held(0, "a"));
  EXPECT_EQ(connections_at(1), 0U);
  lock.unlock();
}

// Promise: S1
TEST_F(RedisSentinelLies, AnOldMasterThatGoesOnIsLeftForTheOneOfTheNewerEpoch) {
  RedisSentinelsOptions options;
  options.old_master_goes_on = 60s;
  static_cast<void>(servers(options));
  servers().fail_over();
  const std::size_t now = *servers().master();
  ASSERT_EQ(servers()[0].talk().info("replication")["role"], "master") << "or it proves nothing";
  fake_.name(servers()[0].port(), 0);
  Client mine = misled_client();
  mine.check(10s);
  EXPECT_TRUE(eventually([&] { return connections_at(now) > 0 && connections_at(0) == 0; }));
  // It lies on, and is not believed any more, also where the connection has to be made anew.
  const std::uint64_t before = fake_.asked();
  ASSERT_TRUE(eventually([&] { return fake_.asked() > before + 1; }));
  EXPECT_EQ(connections_at(0), 0U);
  for (int i = 0; i < 3; ++i) {
    servers()[now].talk().command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    mine.check(10s);
    EXPECT_EQ(connections_at(0), 0U);
  }
  // Nor where it is the only one that still answers, as it would be if both were cut off together.
  for (std::size_t i = 0; i < 3; ++i) servers().sentinel(i).kill();
  servers()[now].talk().command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  mine.check(10s);
  EXPECT_EQ(connections_at(0), 0U);
  EXPECT_GT(connections_at(now), 0U);
}

// Promise: L7
TEST_F(RedisSentinelLies, WhateverItSaysInsteadTheNextOneIsAsked) {
  const std::vector<std::string> all = {
      "",  // nothing, ever
      "*-1\r\n*-1\r\n",
      "-IDONTKNOW I have not enough information to reply.\r\n-IDONTKNOW I\r\n",
      "-ERR unknown command 'SENTINEL'\r\n-ERR unknown command 'SENTINEL'\r\n",
      "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n",
      "*0\r\n*2\r\n$9\r\n127.0.0.1\r\n$5\r\n99999\r\n",
      "*0\r\n*2\r\n$0\r\n\r\n$4\r\n6379\r\n",
      "*0\r\n*2\r\n$9\r\n127.0.0.1\r\n$1\r\n0\r\n",
      "*0\r\n*2\r\n$14\r\nno such\r\nhost!\r\n$4\r\n6379\r\n",
      "*0\r\n*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\n1\r\n",
      "*1\r\n$12\r\nconfig-epoch\r\n:7\r\n",
      "*2147483647\r\n",
      "$1000000000\r\n",
      "HTTP/1.1 400 Bad Request\r\n\r\n",
      std::string(200'000, '*'),
  };
  for (const std::string& bytes : all) {
    const std::string about = ::testing::PrintToString(bytes.substr(0, 60));
    for (const bool hangs_up : {false, true}) {
      fake_.say(bytes);
      fake_.hang_up(hangs_up);
      Client mine = misled_client();
      EXPECT_LT(own_duration_of([&] { mine.check(10s); }), 1s) << about;
    }
  }
}

// A server that is down, and a name that leads nowhere.
TEST_F(RedisSentinelLies, WhatLeadsNowhereIsNotAskedForTwiceInARow) {
  const std::uint16_t nobody = test::FakeSentinel().port();
  fake_.name(nobody, 0);
  Client mine = misled_client();
  EXPECT_LT(own_duration_of([&] { mine.check(10s); }), 1s);
  fake_.say("*0\r\n*2\r\n$16\r\nnowhere.invalid.\r\n$4\r\n6379\r\n");
  Client other = misled_client();
  EXPECT_LT(own_duration_of([&] { other.check(10s); }), 3s);
}

// Promise: L7
TEST_F(RedisSentinelLies, NeitherIsToldThePasswordOfTheOther) {
  ASSERT_EQ(::setenv("MORTISE_TEST_SENTINEL", "Xu8-watch", 1), 0);
  FakeSentinel master;
  fake_.say("+OK\r\n*0\r\n*2\r\n$9\r\n127.0.0.1\r\n$" +
            std::to_string(std::to_string(master.port()).size()) + "\r\n" +
            std::to_string(master.port()) + "\r\n");
  Client mine("redis+sentinel://app:Xu8-lock@127.0.0.1:" + std::to_string(fake_.port()) +
              "/mymaster?sentinel-user=guard&sentinel-password-env=MORTISE_TEST_SENTINEL");
  ::unsetenv("MORTISE_TEST_SENTINEL");
  const Failure failure = failure_of([&] { mine.check(300ms); });
  EXPECT_THAT(failure.text, Not(HasSubstr("Xu8")));
  EXPECT_THAT(fake_.heard(), HasSubstr("guard"));
  EXPECT_THAT(fake_.heard(), HasSubstr("Xu8-watch"));
  EXPECT_THAT(fake_.heard(), Not(HasSubstr("Xu8-lock")));
  EXPECT_THAT(master.heard(), HasSubstr("Xu8-lock"));
  EXPECT_THAT(master.heard(), Not(HasSubstr("Xu8-watch")));
}

// Its words may be anything; a log is made of lines.
TEST_F(RedisSentinelLies, WhatTheySayIsToldInBounds) {
  fake_.say("-ERR " + std::string(5'000, 'x') + "\a\x1b[31m\r\n-ERR " + std::string(5'000, 'y') +
            "\a\x1b[31m\r\n");
  Client mine("redis+sentinel://127.0.0.1:" + std::to_string(fake_.port()) + "/mymaster");
  const Failure failure = failure_of([&] { mine.check(300ms); });
  EXPECT_EQ(failure.code, Errc::unavailable);
  EXPECT_LT(failure.text.size(), 1'000U);
  EXPECT_EQ(failure.text.find_first_of("\a\x1b"), std::string::npos);
}

}  // namespace
}  // namespace mortise::fault
