// SPDX-License-Identifier: MIT
// Goal: what a client needs beside the sentinels' own time is a second (docs/stores/redis-ha.md),
// by its own clock, whatever else the machine is busy with. Method: a clock that stands still but
// for the test's steps, two masters, and a sentinel that names the one and then the other.
#include <mortise/redis.hpp>

#include "fault/party.hpp"
#include "support/fake_sentinel.hpp"
#include "support/proxy.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace mortise::fault {
namespace {

using test::RedisServer;

class RedisSentinelPace : public ::testing::Test {
 protected:
  void SetUp() override {
    MORTISE_NEEDS_REDIS_SERVER();
    one_.emplace();
    two_.emplace();
    sentinel_.name(one_->port(), 1);
  }
  [[nodiscard]] Client client() {
    return Client("redis+sentinel://127.0.0.1:" + std::to_string(sentinel_.port()) + "/mymaster",
                  {.give_up = 1h, .clock = clock_});
  }
  [[nodiscard]] static std::size_t connections_at(const RedisServer& server) {
    std::size_t count = 0;
    for (const auto& each : server.talk().clients()) {
      if (each.at("name") == "mortise") ++count;
    }
    return count;
  }
  /// From now on the other one is the master. A second later a client knows.
  void replace_the_master() {
    sentinel_.name(two_->port(), 2);
    clock_->advance(1s);
  }

  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  test::FakeSentinel sentinel_;
  std::optional<RedisServer> one_;
  std::optional<RedisServer> two_;
};

// Promise: L3
TEST_F(RedisSentinelPace, AnOldMasterThatGoesOnIsLeftWithinASecond) {
  Client mine = client();
  mine.check(10s);
  ASSERT_EQ(connections_at(*one_), 2U) << "a check needs an inbox, too";
  replace_the_master();
  EXPECT_TRUE(eventually([&] { return connections_at(*two_) >= 1 && connections_at(*one_) == 0; }));
}

// Promise: L3
TEST_F(RedisSentinelPace, AMasterThatStandsStillIsLeftWithinASecond) {
  Client mine = client();
  mine.check(10s);
  one_->stop();
  Worker worker;
  auto checked = worker.start([&] {
    mine.check(1h);
    return true;
  });
  replace_the_master();
  EXPECT_TRUE(comes(checked));
  one_->resume();
}

// Promise: L3
TEST_F(RedisSentinelPace, AfterAMasterThatIsGoneTheNextOneIsThereWithinASecond) {
  Client mine = client();
  mine.check(10s);
  one_->kill();
  Worker worker;
  const std::uint64_t before = sentinel_.asked();
  auto checked = worker.start([&] {
    mine.check(1h);
    return true;
  });
  // It was sent to the dead one again, and waits before it tries once more.
  const bool asked = eventually([&] {
    clock_->advance(1ms);
    return sentinel_.asked() > before;
  });
  replace_the_master();
  EXPECT_TRUE(asked);
  EXPECT_TRUE(comes(checked));
}

// It leads to a server that is not the one that grants, and not because that was started anew.
TEST_F(RedisSentinelPace, AnInboxThatIsLateAtTheOldMasterBreaksNothingAtTheNewOne) {
  test::Proxy old(one_->port());
  test::Proxy next(two_->port());
  sentinel_.name(old.port(), 1);
  Client mine = client();
  mine.check(10s);
  old.delay(400ms, 400ms, test::Proxy::Direction::to_client);
  Worker worker;
  auto served = worker.start([&] {
    Lock lock = mine.make_lock("a");
    lock.lock();
    return lock.release();
  });
  ASSERT_TRUE(eventually([&] { return old.connections() == 2; })) << "the inbox";
  sentinel_.name(next.port(), 2);
  clock_->advance(1s);
  EXPECT_TRUE(eventually([&] {
    clock_->advance(5ms);
    return next.connections(test::Proxy::Connections::inboxes) == 1;
  }));
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(next.counts().accepted, 2U);
}

}  // namespace
}  // namespace mortise::fault
