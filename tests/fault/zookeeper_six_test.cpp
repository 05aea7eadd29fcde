// SPDX-License-Identifier: MIT
// Goal: servers are reached by IPv6 as they are by IPv4. Method: a server that listens on ::1
// alone, by its number, beside servers of IPv4, and behind a name that leads to both.
#include "fault/zookeeper_fixture.hpp"
#include "model/process.hpp"
#include "support/free_port.hpp"
#include "support/private_names.hpp"

#include <string>

namespace mortise::fault {
namespace {

class ZooKeeperSix : public ZooKeeperTest {
 protected:
  void SetUp() override {
    ZooKeeperTest::SetUp();
    if (IsSkipped()) return;
    have_own({.loopback = test::Loopback::six});
  }
  void expect_served(const std::string& servers) {
    Client mine("zookeeper://" + servers + "/" + rest());
    mine.check(patience);
    Lock lock = mine.make_lock("a");
    EXPECT_TRUE(lock.try_lock_for(patience)) << servers;
    EXPECT_EQ(lock.release(), Released::released) << servers;
  }
};

TEST_F(ZooKeeperSix, IsReachedByItsNumber) {
  expect_served(server().address());
  expect_served("[0:0:0:0:0:0:0:1]:" + std::to_string(server().port()));
}

TEST_F(ZooKeeperSix, IsReachedByAName) {
  const model::TemporaryDirectory directory;
  const std::string port = ':' + std::to_string(server().port());
  model::Process child = model::Process::fork_child([&] {
    const test::PrivateHosts hosts(directory.file("hosts"), "127.0.0.1 both\n::1 both\n::1 six\n");
    if (!hosts.works()) return test::no_name_spaces;
    for (const char* const name : {"six", "both"}) expect_served(name + port);
    return HasFailure() ? 1 : 0;
  });
  const auto exit = child.wait_for(60s);
  ASSERT_TRUE(exit) << "it hangs";
  if (exit->code == test::no_name_spaces) GTEST_SKIP() << "name spaces of its own need rights";
  EXPECT_EQ(exit->code, 0);
}

// Whichever of them is tried first: the others refuse, and that one is not left out.
TEST_F(ZooKeeperSix, IsReachedBesideServersThatAreGone) {
  const std::string gone = "127.0.0.1:" + std::to_string(test::free_port());
  for (int i = 0; i < 4; ++i) expect_served(gone + "," + server().address() + "," + gone);
}

TEST_F(ZooKeeperSix, TellsWhyItIsNotReached) {
  server().kill();
  Client mine("zookeeper://" + server().address() + "/" + rest());
  const Failure failure = failure_of([&] { mine.check(300ms); });
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("Connection refused"));
}

}  // namespace
}  // namespace mortise::fault
