// SPDX-License-Identifier: MIT
// Goal: what a user of several servers may not do any more costs what it concerns, and nothing
// else. Method: rights are taken away on real servers while locks are held.
#include "fault/redlock_fixture.hpp"
#include "support/redis_store.hpp"

#include <deque>

namespace mortise::fault {
namespace {

constexpr const char* secret = "Xu8-very-secret";

class RedlockRights : public RedlockTest {
 protected:
  /// Three servers with a user that has what the page names.
  void serve() {
    RedisServerOptions options;
    options.users = {std::string("shop on >") + secret + " " +
                     contract::least_redis_privilege("redlock.md")};
    static_cast<void>(servers(3, options));
  }
  [[nodiscard]] Client shop() {
    std::string url = servers().url();
    return Client(url.insert(url.find("//") + 2, std::string("shop:") + secret + "@"));
  }
  void change(const std::string& right) {
    for (std::size_t i = 0; i < 3; ++i) {
      servers()[i].talk().expect_ok({"ACL", "SETUSER", "shop", right});
    }
  }
};

TEST_F(RedlockRights, ThatThePageNamesAreEnough) {
  serve();
  Client mine = shop();
  Client other = shop();
  Lock lock = mine.make_lock("a", {.lease = 1s});
  Lock reader = other.make_lock("a", {.lease = 1s, .mode = Mode::shared});
  for (Lock* const each : {&lock, &reader}) {
    each->lock();
    Lock& waiter = each == &lock ? reader : lock;
    Worker worker;
    auto served = worker.start([&] {
      waiter.lock();
      EXPECT_EQ(waiter.release(), Released::released);
    });
    // It is noted at the servers, and the hold is renewed.
    EXPECT_FALSE(happens_within([&] { return each->lost().stop_requested(); }, 1200ms));
    EXPECT_TRUE(lock.holder());
    EXPECT_EQ(each->release(), Released::released);
    ASSERT_TRUE(comes(served, patience));
  }
  reader.lock();
  EXPECT_EQ(mine.force_release("a", {.wait = patience}).size(), 1U);
  mine.check(patience);
}

TEST_F(RedlockRights, AreNamedIfTheyAreMissing) {
  serve();
  for (const std::string right :
       {"time", "hget", "hmget", "hset", "hdel", "pexpire", "pttl", "zadd", "zrem", "zrange",
        "zscore", "zmscore", "publish", "evalsha"}) {
    change("-" + right);
    Client mine = shop();
    const Failure failure = failure_of([&] { mine.check(patience); });
    EXPECT_EQ(failure.code, Errc::denied) << right << ": " << failure.text;
    EXPECT_THAT(failure.text, testing::HasSubstr("; user 'shop' needs +" + right + ": "));
    change("+" + right);
  }
  shop().check(patience);
}

// Promise: L8
TEST_F(RedlockRights, ANameThatIsTakenAwayCostsNoOtherHold) {
  static_cast<void>(servers(3));
  Client mine = ready_client();
  std::deque<Lock> kept;
  for (int i = 0; i < 5; ++i) {
    kept.push_back(mine.make_lock("kept/" + std::to_string(i), {.lease = 2s}));
    kept.back().lock();
  }
  Lock taken = mine.make_lock("taken", {.lease = 2s});
  taken.lock();
  for (std::size_t i = 0; i < 3; ++i) {
    servers()[i].talk().expect_ok({"ACL", "SETUSER", "default", "resetkeys", "~mortise:{kept*"});
  }
  EXPECT_TRUE(eventually([&] { return taken.lost().stop_requested(); }));
  for (Lock& lock : kept) {
    EXPECT_FALSE(lock.lost().stop_requested());
    EXPECT_EQ(lock.release(), Released::released);
  }
}

// Another program has written to a key next to a lock.
// Promise: L8
TEST_F(RedlockRights, AKeyOfAnotherTypeCostsNoOtherHold) {
  static_cast<void>(servers(3));
  Client mine = ready_client();
  std::deque<Lock> kept;
  for (int i = 0; i < 5; ++i) {
    kept.push_back(mine.make_lock("kept/" + std::to_string(i), {.lease = 2s}));
    kept.back().lock();
  }
  Lock spoilt = mine.make_lock("spoilt", {.lease = 2s, .mode = Mode::shared});
  spoilt.lock();
  for (std::size_t i = 0; i < 3; ++i) {
    servers()[i].talk().expect_ok({"SET", key("spoilt") + ":queue", "mine"});
  }
  EXPECT_TRUE(eventually([&] { return spoilt.lost().stop_requested(); }));
  for (Lock& lock : kept) {
    EXPECT_FALSE(lock.lost().stop_requested());
    EXPECT_EQ(lock.release(), Released::released);
  }
}

}  // namespace
}  // namespace mortise::fault
