// SPDX-License-Identifier: MIT
// Goal: a Redis that dies and comes back without its data costs what the manual says and no more.
// Method: kill -9 and a new start, while a lock is held and while it is waited for. With its data
// it is one of those of restart_test.cpp.
#include "fault/lasting.hpp"
#include "fault/redis_fixture.hpp"

namespace mortise::fault {
namespace {

class RedisRestart : public RedisTest {
 protected:
  void kill_and_start() {
    server().kill();
    server().start();
  }
};

TEST_F(RedisRestart, WithoutPersistenceAHoldIsLostAndItsHolderTold) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.lock("a", {.lease = 1500ms});
  lock.lock();
  const std::stop_token lost = lock.lost();
  kill_and_start();
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }, 1500ms + slack));
  EXPECT_EQ(lock.valid_for(), 0ns);
  EXPECT_TRUE(record->told(Record::Kind::lost, 1));
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
}

TEST_F(RedisRestart, WithoutPersistenceTheNextTokenIsLarger) {
  Client mine = client();
  Client other = client();
  Lock lock = mine.lock("a", {.lease = 1500ms});
  Lock next = other.lock("a");
  Token last;
  for (int round = 0; round < 3; ++round) {
    const Guard old(lock);
    EXPECT_GT(old.token(), last) << round;
    kill_and_start();
    const Guard guard(next, {.wait = patience});
    ASSERT_TRUE(guard) << guard.error_text();
    EXPECT_GT(guard.token(), old.token()) << round;
    last = guard.token();
  }
}

TEST_F(RedisRestart, WithoutPersistenceAWaiterIsServedAndOnlyHeHolds) {
  Client mine = client();
  Lock lock = mine.lock("a", {.lease = 3s});
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  kill_and_start();
  ASSERT_TRUE(comes(served));
  EXPECT_GT(served.get(), lock.token());
  // Its renewal finds the other one; at the latest its own clock tells it.
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, 3s + slack));
  EXPECT_GT(waiter.run([&] { return waiter.lock().valid_for(); }), 0ns);
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

/// With everything on disk that was acknowledged.
class LastingRedis final : public LastingServer {
 public:
  [[nodiscard]] Client client(std::chrono::milliseconds /*lease*/, ClientOptions options) override {
    return Client(server_.url(), std::move(options));
  }
  void kill() override { server_.kill(); }
  void start() override { server_.start(); }
  [[nodiscard]] std::string place(const std::string& name) override {
    const std::string entry =
        server_.talk().command({"HGET", redis::lock_key("mortise:", name), "#0"}).text;
    return entry.substr(0, entry.find(' '));
  }

 private:
  [[nodiscard]] static RedisServerOptions keeping_all() {
    RedisServerOptions options;
    options.persistence = RedisServerOptions::Persistence::always;
    return options;
  }
  RedisServer server_{keeping_all()};
};

[[maybe_unused]] const bool redis_lasts = test::add_ground<Restart>(
    "Redis", LastingGround{.name = "redis",
                           .open = [] { return std::make_unique<LastingRedis>(); },
                           .missing = [] { return RedisServer::missing(); }});

}  // namespace
}  // namespace mortise::fault
