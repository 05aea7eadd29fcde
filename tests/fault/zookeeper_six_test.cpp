// SPDX-License-Identifier: MIT
// Goal: servers are reached by IPv6 as they are by IPv4. Method: a server that listens on ::1
// alone, by its number, beside servers of IPv4, and behind a name that leads to both.
#include "fault/zookeeper_fixture.hpp"
#include "support/free_port.hpp"

#include <netdb.h>

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
  static bool localhost_is_six() {
    addrinfo hints{};
    hints.ai_family = AF_INET6;
    addrinfo* list = nullptr;
    const bool found = ::getaddrinfo("localhost", nullptr, &hints, &list) == 0;
    if (found) ::freeaddrinfo(list);
    return found;
  }
  void expect_served(const std::string& servers) {
    Client mine("zookeeper://" + servers + "/" + rest());
    mine.check(patience);
    Lock lock = mine.lock("a");
    EXPECT_TRUE(lock.try_lock_for(patience)) << servers;
    EXPECT_EQ(lock.release(), Released::released) << servers;
  }
};

TEST_F(ZooKeeperSix, IsReachedByItsNumber) {
  expect_served(server().address());
  expect_served("[0:0:0:0:0:0:0:1]:" + std::to_string(server().port()));
}

TEST_F(ZooKeeperSix, IsReachedByAName) {
  MORTISE_NEEDS(localhost_is_six() ? std::string() : "a name localhost that leads to ::1");
  expect_served("localhost:" + std::to_string(server().port()));
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
