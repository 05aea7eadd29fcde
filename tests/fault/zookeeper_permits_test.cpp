// SPDX-License-Identifier: MIT
// Goal: no permit is lost and none is there twice, and who waits is woken once, whatever happens to
// the requests for it. Method: nodes by a stranger's hand, connections that are cut at one request,
// looks at what is left at the server.
#include "core/figures.hpp"
#include "fault/zookeeper_fixture.hpp"
#include "zookeeper/lease_place.hpp"

#include <future>
#include <memory>
#include <string>
#include <vector>

namespace mortise::fault {
namespace {

constexpr const char* gate = "gate";
const LockOptions long_enough{.lease = 60s};

class ZooKeeperPermits : public ZooKeeperTest {
 protected:
  [[nodiscard]] zookeeper::GatePlace place() const {
    return zookeeper::GatePlace::of("/" + root(), gate);
  }
  /// Waits until so many nodes are there, and so many wait.
  [[nodiscard]] bool come_to_be(std::size_t leases, std::size_t waiting) {
    ZooKeeperTalk talk = server().talk();
    return eventually([&] {
      return talk.children(place().leases).size() == leases &&
             talk.children(place().locks).size() == waiting;
    });
  }
  static Permit take(Semaphore& semaphore, std::chrono::nanoseconds wait = patience) {
    return semaphore.acquire({.wait = wait});
  }
};

TEST_F(ZooKeeperPermits, LeaveNothingBehind) {
  Client mine = client();
  Semaphore semaphore = mine.make_semaphore(gate, 2, long_enough);
  {
    Permit one = take(semaphore);
    Permit two = take(semaphore);
    ASSERT_TRUE(one && two);
    EXPECT_TRUE(come_to_be(2, 0));
    EXPECT_FALSE(take(semaphore, 0ns));
    // Long enough for the answers of a busy server. Without them, the call throws.
    EXPECT_FALSE(take(semaphore, 1s));
    EXPECT_TRUE(come_to_be(2, 0));
  }
  EXPECT_TRUE(come_to_be(0, 0));
}

TEST_F(ZooKeeperPermits, OneWaitsAtTheStoreAndTheOthersBehindIt) {
  Client mine = client();
  Semaphore semaphore = mine.make_semaphore(gate, 1, long_enough);
  Permit held = take(semaphore);
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<Permit>> served;
  for (std::size_t i = 0; i < 3; ++i) {
    workers.push_back(std::make_unique<Worker>());
    served.push_back(workers.back()->start([&] { return take(semaphore); }));
    EXPECT_TRUE(come_to_be(2, i + 1));
  }
  Token last = held.token();
  held.unlock();
  for (auto& each : served) {
    Permit permit = each.get();
    ASSERT_TRUE(permit);
    EXPECT_GT(permit.token(), last);
    last = permit.token();
  }
  EXPECT_TRUE(come_to_be(0, 0));
}

TEST_F(ZooKeeperPermits, LostAnswersLeaveNoneBehindAndLoseNone) {
  for (const char* const command : {"CREATE2", "GETCHILDREN", "DELETE"}) {
    for (const Proxy::Moment moment : {Proxy::Moment::request, Proxy::Moment::reply}) {
      Client mine = proxied();
      Semaphore semaphore = mine.make_semaphore(gate, 1, long_enough);
      proxy().cut_at(1, moment, command);
      Permit permit = take(semaphore);
      ASSERT_TRUE(permit) << command;
      Client other = client();
      Semaphore theirs = other.make_semaphore(gate, 1, long_enough);
      EXPECT_FALSE(take(theirs, 0ns)) << command;
      EXPECT_EQ(permit.unlock(), Released::released) << command;
      EXPECT_FALSE(proxy().cut_is_ahead()) << command;
      EXPECT_TRUE(take(theirs)) << command;
      EXPECT_TRUE(come_to_be(0, 0)) << command;
    }
  }
}

TEST_F(ZooKeeperPermits, ADeletedNodeIsALostPermit) {
  Client mine = client();
  Semaphore semaphore = mine.make_semaphore(gate, 1, long_enough);
  Permit permit = take(semaphore);
  ASSERT_TRUE(permit);
  ZooKeeperTalk talk = server().talk();
  talk.remove(place().leases + "/" + talk.children(place().leases).front());
  EXPECT_TRUE(eventually([&] { return permit.lost().stop_requested(); }));
  EXPECT_EQ(permit.unlock(), Released::was_lost);
  EXPECT_TRUE(take(semaphore));
}

TEST_F(ZooKeeperPermits, AWaitersDeletedNodesAreMadeAgain) {
  Client mine = client();
  Semaphore semaphore = mine.make_semaphore(gate, 1, long_enough);
  Permit held = take(semaphore);
  Worker worker;
  auto served = worker.start([&] { return take(semaphore); });
  ASSERT_TRUE(come_to_be(2, 1));
  ZooKeeperTalk talk = server().talk();
  talk.remove(place().locks + "/" + talk.children(place().locks).front());
  const auto number = static_cast<std::int64_t>(held.token().value() / core::tokens_in_a_grant);
  for (const std::string& node : talk.children(place().leases)) {
    const std::string path = place().leases + "/" + node;
    if (talk.stat(path)->created != number) talk.remove(path);
  }
  EXPECT_TRUE(come_to_be(2, 1));
  held.unlock();
  EXPECT_TRUE(served.get());
}

TEST_F(ZooKeeperPermits, AnotherNumberIsRefusedToWhoeverWouldWait) {
  Client mine = client();
  Semaphore two = mine.make_semaphore(gate, 2, long_enough);
  Semaphore three = mine.make_semaphore(gate, 3, long_enough);
  Permit one = take(two);
  Permit other = take(two);
  EXPECT_FALSE(take(two, 0ns)) << "it remembers that";
  std::error_code ec;
  const Permit refused = three.acquire({.wait = patience}, ec);
  EXPECT_FALSE(refused);
  EXPECT_EQ(ec, Errc::misconfigured);
  EXPECT_TRUE(come_to_be(2, 0));
}

}  // namespace
}  // namespace mortise::fault
