// SPDX-License-Identifier: MIT
// Goal: the client connects once more to an address that may lead to the server of another address.
// Later tries wait for the pause, as at any other address. Method: servers without connections. The
// tries go to a port on which no server listens.
#include "redlock/servers.hpp"
#include "support/fake_host.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <list>
#include <memory>
#include <string>

namespace mortise::redlock {
namespace {

using namespace std::chrono_literals;

class QuietUser final : public Node::User, public Line::User {
 public:
  Server* recognise(Node& /*node*/, const std::string& /*run_id*/) override { return nullptr; }
  void up(Node& /*node*/) override {}
  void down(Node& /*node*/, bool /*was_up*/, std::list<redis::Call> /*unanswered*/) override {}
  void answered(Node& /*node*/, const redis::Call& /*call*/, const redis::Reply& /*r*/) override {}
  [[nodiscard]] bool admits(Node& /*node*/, const redis::Call& /*call*/) override { return true; }
  void listens(Node& /*node*/) override {}
  void hinted(Node& /*node*/, const AttemptId& /*attempt*/) override {}
  [[nodiscard]] bool awaits() const noexcept override { return false; }
  void not_asked(Node& /*node*/, const redis::Call& /*take*/) override {}
  void sooner(Instant /*due*/) override {}
};

class RedlockServers : public testing::Test {
 protected:
  /// Both addresses seem to lead to one server.
  void make_twins(Instant one, Instant other) {
    servers_.whereabouts().arrived(0, "run", one);
    servers_.whereabouts().arrived(1, "run", other);
  }
  /// A server has to take a vote back.
  void owe() {
    const auto wanted = std::make_shared<Acquisition>(
        Acquisition::Request{.attempt = {1, 2, 3}, .name = "name", .lease = 30s});
    servers_.node(2).server().take_back_unasked(
        std::make_shared<Ballot>(wanted, 1, host_.clock()->now()));
  }
  /// The tries of an address fail until it has a pause. @return true if it has one
  [[nodiscard]] bool fails(redis::Connection& connection) {
    for (int i = 0; i < 1'000 && connection.is_wanted(); ++i) {
      connection.ready(0, host_.clock()->now());
    }
    return !connection.is_wanted();
  }

  test::FakeHost host_;
  const Settings settings_ = Settings::parse("redlock://127.0.0.1:1,127.0.0.2:1,127.0.0.3:1");
  const Requests requests_{"mortise:"};
  const CallWriter writer_{requests_, host_.clock()};
  QuietUser user_;
  Servers servers_{settings_, host_, writer_, nullptr, user_, user_};
};

TEST_F(RedlockServers, AnOldConnectionToTheServerOfAnotherAddressIsMadeAgain) {
  const Instant now = host_.clock()->now();
  make_twins(now - 1h, now);
  servers_.settle_doubts();
  EXPECT_EQ(servers_.node(0).commands().due(), Instant{}) << "without a pause";
  EXPECT_FALSE(servers_.node(1).commands().is_wanted());
}

// If the client led an address home twice, it would connect again and again without a pause.
TEST_F(RedlockServers, AnAddressThatIsAlreadyLedHomeWaitsForItsPause) {
  const Instant now = host_.clock()->now();
  make_twins(now, now);
  owe();
  servers_.lead_home();
  redis::Connection& connection = servers_.node(0).commands();
  EXPECT_EQ(connection.due(), Instant{}) << "it was not led home";
  ASSERT_TRUE(fails(connection));
  const Instant failed = host_.clock()->now();
  connection.want(false);
  ASSERT_GT(connection.due(), failed - 5ms);
  servers_.lead_home();
  EXPECT_GT(connection.due(), Instant{}) << "it was led home twice, and its pause forgotten";
}

}  // namespace
}  // namespace mortise::redlock
