// SPDX-License-Identifier: MIT
// Goal: servers that refuse a client, or hang up on it, are not stormed with connections, and the
// caller is told why. A request that is refused for now is repeated. Method: a server that serves
// authenticated clients only, and a proxy that refuses requests, or hangs up on the first one of
// each connection, and counts.
#include "fault/zookeeper_fixture.hpp"

namespace mortise::fault {
namespace {

class ZooKeeperRefusals : public ZooKeeperTest {
 protected:
  void demand_users() {
    have_own({.jvm = {"-Dzookeeper.enforce.auth.enabled=true",
                      "-Dzookeeper.enforce.auth.schemes=digest"}});
  }
};

TEST_F(ZooKeeperRefusals, OfAClientWithoutAUserAreDeniedAtOnce) {
  demand_users();
  Client mine(proxied_url(), {.give_up = 5s});
  Lock lock = mine.make_lock("a");
  Failure failure;
  EXPECT_LT(own_duration_of([&] { failure = failure_of([&] { lock.lock(); }); }), 2s);
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
  EXPECT_EQ(failure_of([&] { mine.check(3s); }).code, Errc::denied);
  EXPECT_EQ(failure_of([&] { static_cast<void>(mine.make_once("k").look()); }).code, Errc::denied);
  Once once = mine.make_once("k");
  EXPECT_EQ(failure_of([&] { once.run([] { return std::string(); }); }).code, Errc::denied);
}

TEST_F(ZooKeeperRefusals, OfAClientWithoutAUserCostTheServerAFewConnections) {
  demand_users();
  Client mine(proxied_url());
  Lock lock = mine.make_lock("a");
  EXPECT_EQ(failure_of([&] { lock.lock(); }).code, Errc::denied);
  const std::uint64_t before = proxy().counts().accepted;
  EXPECT_FALSE(happens_within([&] { return proxy().counts().accepted > before + 12; }, 3s));
}

// A server that greets, and hangs up before it has answered anything.
TEST_F(ZooKeeperRefusals, WithoutAWordAreNotStormed) {
  Client mine = proxied();
  make_parent(mine, "a");
  Party taker(std::move(mine), "a");
  proxy().lose_request(1);
  auto taken = taker.start();
  const std::uint64_t before = proxy().counts().accepted;
  EXPECT_FALSE(happens_within([&] { return proxy().counts().accepted > before + 20; }, 3s));
  EXPECT_TRUE(eventually([&] { return proxy().counts().accepted > before + 2; })) << "it tries on";
  proxy().heal();
  EXPECT_TRUE(comes(taken));
  EXPECT_EQ(taker.release(), Released::released);
}

// A server that has too many requests. No reply, event or connection follows for which the client
// could wait.
// Promise: L3
TEST_F(ZooKeeperRefusals, OfARemovalKeepAPlaceForHalfASecond) {
  constexpr std::int32_t throttled = -127;
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Client mine(proxied_url("session=30s&margin=300ms"));
  mine.check(patience);
  Lock wanted = mine.make_lock("a");
  proxy().answer_with_error("DELETE", throttled);
  std::error_code error;
  EXPECT_FALSE(wanted.try_lock_for(50ms, error));
  ASSERT_TRUE(eventually([&] { return proxy().counts().refusals > 0; }));
  proxy().answer_with_error("DELETE", 0);
  EXPECT_TRUE(comes_to_be("a", 1, 2s)) << "the client waits for something else";
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperRefusals, ConcernNoClientWithAUser) {
  demand_users();
  Client mine("zookeeper://shop:secret@" + server().address() + "/" + rest());
  Lock lock = mine.make_lock("a");
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
