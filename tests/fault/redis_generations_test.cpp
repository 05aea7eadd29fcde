// SPDX-License-Identifier: MIT
// Goal: what was written for one connection is not sent on the next, where the server would take it
// for a copy that comes late, and who comes while one is made does not end it. Method: a connection
// alone, on a real server, that breaks between the two steps of a send, or whose greeting is kept.
#include "fault/redis_fixture.hpp"
#include "redis/command.hpp"
#include "redis/connection.hpp"
#include "redis/settings.hpp"
#include "support/fake_host.hpp"

#include <array>
#include <stdexcept>

namespace mortise::fault {
namespace {

class User final : public redis::Connection::User {
 public:
  void greeted(redis::Connection& /*connection*/, const redis::ServerFacts& /*facts*/) override {}
  void connected(redis::Connection& /*connection*/) override { ++connections; }
  void answered(const redis::Call& /*call*/, const redis::Reply& /*reply*/) override { ++answers; }
  [[nodiscard]] bool admits(const redis::Call& /*call*/) override { return true; }
  void changed(redis::Connection& /*connection*/) override {}
  void pushed(const redis::Reply& /*message*/) override {}
  void dropped(redis::Connection& /*connection*/, const Failure& /*why*/, bool /*was_up*/,
               std::deque<redis::Call> unanswered) override {
    ++drops;
    lost += unanswered.size();
  }
  int connections = 0;
  int answers = 0;
  int drops = 0;
  std::size_t lost = 0;
};

class RedisGenerations : public RedisTest {};

// Promise: S1
TEST_F(RedisGenerations, OfAConnectionAreNotMixed) {
  test::FakeHost host;
  User user;
  const redis::Settings settings = redis::Settings::parse(server().url());
  redis::Connection connection(host, settings, nullptr, {}, user);
  host.attach(connection);
  const auto until = [&](const auto& condition) {
    return eventually([&] {
      connection.ready(0, Clock::real()->now());
      return condition();
    });
  };
  connection.want(true);
  ASSERT_TRUE(until([&] { return user.connections == 1; }));
  std::string ping;
  redis::append_command(ping, std::array<std::string_view, 1>{"PING"});
  const auto call = [&](std::uint64_t generation) {
    return redis::Call{.epoch = generation,
                       .operation = std::make_shared<Check>(),
                       .deadline = Clock::real()->now() + patience};
  };
  using Sent = redis::Connection::Sent;
  const std::uint64_t first = connection.generation();
  ASSERT_EQ(connection.send(call(first), ping), Sent::sent);
  ASSERT_TRUE(until([&] { return user.answers == 1; }));

  connection.drop({Errc::unavailable, "broken"});
  connection.want(true);
  ASSERT_TRUE(until([&] { return user.connections == 2; }));
  EXPECT_GT(connection.generation(), first);
  EXPECT_EQ(connection.send(call(first), ping), Sent::refused)
      << "written for the connection before";
  EXPECT_FALSE(connection.outstanding());
  EXPECT_EQ(connection.send(call(connection.generation()), ping), Sent::sent);
  EXPECT_TRUE(until([&] { return user.answers == 2; }));
  EXPECT_EQ(user.lost, 0U);
  host.detach(connection);
  static_cast<void>(connection.close());
}

// Out of memory for the bytes of a call that has its place among the others: each reply from then
// on would go to the call before its own, and a lock that is somebody else's would be believed in.
TEST_F(RedisGenerations, HaveNoCallWhoseBytesAreNot) {
  test::FakeHost host;
  User user;
  const redis::Settings settings = redis::Settings::parse(server().url());
  redis::Connection connection(host, settings, nullptr, {}, user);
  host.attach(connection);
  const auto until = [&](const auto& condition) {
    return eventually([&] {
      connection.ready(0, Clock::real()->now());
      return condition();
    });
  };
  connection.want(true);
  ASSERT_TRUE(until([&] { return user.connections == 1; }));
  const redis::Call call{.epoch = connection.generation(),
                         .operation = std::make_shared<Check>(),
                         .deadline = Clock::real()->now() + patience};
  std::string ping;
  redis::append_command(ping, std::array<std::string_view, 1>{"PING"});
  // So many no string can take, whatever memory there is.
  const std::string_view too_many(ping.data(), std::string().max_size() + 1);
  EXPECT_THROW(static_cast<void>(connection.send(call, too_many)), std::length_error);
  EXPECT_FALSE(connection.outstanding());
  EXPECT_EQ(connection.send(call, ping), redis::Connection::Sent::sent);
  EXPECT_TRUE(until([&] { return user.answers == 1; }));
  EXPECT_FALSE(connection.outstanding());
  host.detach(connection);
  static_cast<void>(connection.close());
}

// Each caller that comes while the connection is being made wants it at once: that must not end the
// try that is under way, or a crowd never gets connected, and the pauses between the tries grow.
TEST_F(RedisGenerations, AreNotEndedByThoseWhoComeWhileTheyBegin) {
  Proxy proxy(server().port());
  proxy.blackhole(true);
  test::FakeHost host;
  User user;
  const redis::Settings settings = redis::Settings::parse(proxy.url());
  redis::Connection connection(host, settings, nullptr, {}, user);
  host.attach(connection);
  for (int i = 0; i < 20; ++i) {
    connection.want(true);
    connection.ready(0, Clock::real()->now());
  }
  EXPECT_EQ(user.drops, 0);
  proxy.heal();
  EXPECT_TRUE(eventually([&] {
    connection.want(true);
    connection.ready(0, Clock::real()->now());
    return user.connections == 1;
  }));
  EXPECT_EQ(user.drops, 0);
  host.detach(connection);
  static_cast<void>(connection.close());
}

}  // namespace
}  // namespace mortise::fault
