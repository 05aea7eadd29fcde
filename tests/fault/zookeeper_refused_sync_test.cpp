// SPDX-License-Identifier: MIT
// Goal: a server that has too many requests may refuse a sync and answer the list behind it
// (ZTHROTTLEDOP). Such a list is as old as the server pleases: a node that it does not show may be
// there all the same, and whoever takes it for absent makes another one, behind which nobody is
// served. Method: the proxy loses the answer to the creation, refuses the syncs behind it, and
// answers each list as a server that has not heard of the parent yet.
#include "fault/zookeeper_fixture.hpp"

namespace mortise::fault {
namespace {

using namespace std::chrono_literals;

constexpr std::int32_t throttled = -127;
constexpr std::int32_t system_error = -1;  // answered, although it reads like a lost connection

class ZooKeeperRefusedSync : public ZooKeeperTest {
 protected:
  [[nodiscard]] std::uint64_t creations() { return proxy().commands("CREATE2"); }
  /// Waits until the client has asked so many times more whether its node came to be.
  [[nodiscard]] bool look(std::uint64_t times) {
    const std::uint64_t before = proxy().commands("GETCHILDREN");
    return eventually([&] { return proxy().commands("GETCHILDREN") >= before + times; });
  }
  void prove_nothing(std::int32_t error);
};

void ZooKeeperRefusedSync::prove_nothing(std::int32_t error) {
  Client mine = proxied();
  make_parent(mine, "a");
  const std::uint64_t before = creations();
  proxy().answer_with_error("SYNC", error);
  proxy().answer_with_error("GETCHILDREN", ZooKeeperTalk::no_node);
  proxy().cut_at(1, Proxy::Moment::reply, "CREATE2");
  Lock lock = mine.make_lock("a");
  Worker worker;
  const std::future<void> done = worker.start([&] { EXPECT_TRUE(lock.try_lock_for(patience)); });
  ASSERT_TRUE(comes_to_be("a", 1));
  ASSERT_TRUE(look(2)) << "by its second connection";
  EXPECT_GT(proxy().counts().refusals, 0U);
  EXPECT_EQ(creations(), before + 1) << "the list behind a refused sync was believed";
  EXPECT_FALSE(comes_within(done, 0s));
  proxy().answer_with_error("SYNC", 0);
  proxy().answer_with_error("GETCHILDREN", 0);
  ASSERT_TRUE(comes(done));
  EXPECT_EQ(creations(), before + 1) << "the node was not found";
  EXPECT_EQ(queue("a").size(), 1U);
  EXPECT_EQ(worker.run([&] { return lock.release(); }), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperRefusedSync, ProvesNothingOfANodeThatItsListDoesNotShow) {
  prove_nothing(throttled);
}

TEST_F(ZooKeeperRefusedSync, ProvesNothingIfItFailsAtTheServer) { prove_nothing(system_error); }

}  // namespace
}  // namespace mortise::fault
