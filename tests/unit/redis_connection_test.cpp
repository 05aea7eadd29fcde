// SPDX-License-Identifier: MIT
// Goal: the next look drops a connection that cannot greet its server. The look that failed does
// not drop it, because it may have no memory. Method: a connector makes the connection, as on a
// network with slow connects, and the password file is missing.
#include "redis/connection/connection.hpp"
#include "support/hand_host.hpp"
#include "unit/remote_stream_fixture.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <list>
#include <memory>
#include <string>
#include <vector>

namespace mortise::redis {
namespace {

class DropNotes final : public ConnectionUser {
 public:
  [[nodiscard]] bool admits(const Call& /*call*/) override { return true; }
  void greeted(Connection& /*connection*/, const ServerFacts& /*facts*/) override {}
  void connected(Connection& /*connection*/) override {}
  void answered(const Call& /*call*/, const Reply& /*reply*/) override {}
  void changed(Connection& /*connection*/) override { ++changes; }
  void pushed(const Reply& /*message*/) override {}
  void dropped(Connection& /*connection*/, const Failure& why, bool /*was_up*/,
               std::list<Call> /*unanswered*/) override {
    drops.push_back(why);
  }
  int changes = 0;
  std::vector<Failure> drops;
};

TEST(RedisConnection, TheNextLookDropsAConnectionThatCannotGreet) {
  const remote::Listener listener;
  Settings settings =
      Settings::parse("redis://127.0.0.1:" + std::to_string(listener.endpoint().port()));
  settings.login.credentials.password_file = "/nowhere/password";
  settings.connector = std::make_shared<const Connector>(
      [endpoint = listener.endpoint()](const std::string& /*host*/, std::uint16_t /*port*/) {
        const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const auto* address = reinterpret_cast<const sockaddr*>(&endpoint.address);
        return ::connect(made, address, endpoint.length) == 0 ? made : -1;
      });
  test::HandHost host;
  DropNotes user;
  Connection connection(host, settings, nullptr, {}, user);
  host.attach(connection);
  connection.want(true);
  user.changes = 0;
  ASSERT_TRUE(host.run_until([&] { return user.changes > 0 || !user.drops.empty(); }));
  EXPECT_TRUE(user.drops.empty());
  EXPECT_EQ(connection.due(), Instant{});
  connection.ready(0, host.clock()->now());
  ASSERT_EQ(user.drops.size(), 1U);
  EXPECT_EQ(user.drops[0].code, Errc::misconfigured);
  EXPECT_TRUE(user.drops[0].text.starts_with(settings.where() + ": the file given by "))
      << user.drops[0].text;
  host.detach(connection);
  static_cast<void>(connection.close());
}

}  // namespace
}  // namespace mortise::redis
