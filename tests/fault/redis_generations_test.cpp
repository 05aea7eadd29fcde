// SPDX-License-Identifier: MIT
// Goal: what was written for one connection is not sent on the next, where the server would take it
// for a copy that comes late, and who comes while one is made does not end it. Method: a connection
// alone, on a real server, that breaks between the two steps of a send, or whose greeting is kept.
#include "fault/redis_fixture.hpp"
#include "redis/connection/connection.hpp"
#include "redis/store/command.hpp"
#include "redis/store/settings.hpp"
#include "support/fake_host.hpp"

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mortise::fault {
namespace {

class User final : public redis::Connection::User {
 public:
  /// What it is told, and for what it finds no memory the next time.
  enum class Told { nothing, greeted, connected, matched, answered, pushed };

  void greeted(redis::Connection& /*connection*/, const redis::ServerFacts& /*facts*/) override {
    fail(Told::greeted);
  }
  void connected(redis::Connection& /*connection*/) override {
    fail(Told::connected);
    ++connections;
  }
  void matched(const redis::Call& /*call*/, const redis::Reply& /*reply*/,
               Instant /*now*/) override {
    fail(Told::matched);
  }
  void answered(const redis::Call& call, const redis::Reply& /*reply*/) override {
    fail(Told::answered);
    ++answers;
    last_answered = call.tag;
  }
  [[nodiscard]] bool admits(const redis::Call& /*call*/) override { return true; }
  void changed(redis::Connection& /*connection*/) override {}
  void pushed(const redis::Reply& /*message*/) override { fail(Told::pushed); }
  void dropped(redis::Connection& /*connection*/, const Failure& /*why*/, bool /*was_up*/,
               std::list<redis::Call> unanswered) override {
    ++drops;
    lost += unanswered.size();
    if (!unanswered.empty()) first_lost = unanswered.front().tag;
  }
  void fail(Told at) {
    if (fails != at) return;
    fails = Told::nothing;
    throw std::bad_alloc();
  }
  Told fails = Told::nothing;
  std::uint32_t last_answered = 0;
  std::uint32_t first_lost = 0;
  int connections = 0;
  int answers = 0;
  int drops = 0;
  std::size_t lost = 0;
};

/// A connection alone, that is polled by the test.
class Driven {
 public:
  explicit Driven(const std::string& url) : settings_(redis::Settings::parse(url)) {
    redis::append_command(ping, std::array<std::string_view, 1>{"PING"});
    host_.attach(connection);
  }
  Driven(const Driven&) = delete;
  Driven& operator=(const Driven&) = delete;
  ~Driven() {
    host_.detach(connection);
    static_cast<void>(connection.close());
  }
  template <class Condition>
  [[nodiscard]] bool until(const Condition& condition) {
    return eventually([&] {
      connection.ready(0, Clock::real()->now());
      return condition();
    });
  }
  /// @return whether it is made, for the first time or once more
  [[nodiscard]] bool comes_up(int times = 1) {
    connection.want(true);
    return until([&] { return user.connections == times; });
  }
  [[nodiscard]] static redis::Call call(std::uint64_t generation) {
    redis::Call call;
    call.written.generation = generation;
    call.operation = std::make_shared<Check>();
    call.deadline = Clock::real()->now() + patience;
    return call;
  }

 private:
  test::FakeHost host_;
  const redis::Settings settings_;

 public:
  std::string ping;
  User user;
  redis::Connection connection{host_, settings_, nullptr, {}, user};
};

class RedisGenerations : public RedisTest {};

// Promise: S1
TEST_F(RedisGenerations, OfAConnectionAreNotMixed) {
  Driven driven(server().url());
  redis::Connection& connection = driven.connection;
  ASSERT_TRUE(driven.comes_up());
  using Sent = redis::Connection::Sent;
  const auto send = [&](std::uint64_t generation) {
    redis::Call call = Driven::call(generation);
    return connection.send(call, driven.ping);
  };
  const std::uint64_t first = connection.calls().generation();
  ASSERT_EQ(send(first), Sent::sent);
  ASSERT_TRUE(driven.until([&] { return driven.user.answers == 1; }));

  connection.drop({Errc::unavailable, "broken"});
  ASSERT_TRUE(driven.comes_up(2));
  EXPECT_GT(connection.calls().generation(), first);
  EXPECT_EQ(send(first), Sent::refused) << "written for the connection before";
  EXPECT_FALSE(connection.outstanding());
  EXPECT_EQ(send(connection.calls().generation()), Sent::sent);
  EXPECT_TRUE(driven.until([&] { return driven.user.answers == 2; }));
  EXPECT_EQ(driven.user.lost, 0U);
}

// Out of memory for the bytes of a call that has its place among the others: each reply from then
// on would go to the call before its own, and a lock that is somebody else's would be believed in.
TEST_F(RedisGenerations, HaveNoCallWhoseBytesAreNot) {
  Driven driven(server().url());
  redis::Connection& connection = driven.connection;
  ASSERT_TRUE(driven.comes_up());
  redis::Call call = Driven::call(connection.calls().generation());
  // So many no string can take, whatever memory there is.
  const std::string_view too_many(driven.ping.data(), std::string().max_size() + 1);
  EXPECT_THROW(static_cast<void>(connection.send(call, too_many)), std::length_error);
  EXPECT_FALSE(connection.outstanding());
  EXPECT_EQ(connection.send(call, driven.ping), redis::Connection::Sent::sent);
  EXPECT_TRUE(driven.until([&] { return driven.user.answers == 1; }));
  EXPECT_FALSE(connection.outstanding());
}

// Each caller that comes while the connection is being made wants it at once: that must not end the
// try that is under way, or a crowd never gets connected, and the pauses between the tries grow.
TEST_F(RedisGenerations, AreNotEndedByThoseWhoComeWhileTheyBegin) {
  Proxy proxy(server().port());
  proxy.blackhole(true);
  Driven driven(proxy.url());
  redis::Connection& connection = driven.connection;
  for (int i = 0; i < 20; ++i) {
    connection.want(true);
    connection.ready(0, Clock::real()->now());
  }
  EXPECT_EQ(driven.user.drops, 0);
  proxy.heal();
  EXPECT_TRUE(driven.until([&] {
    connection.want(true);
    return driven.user.connections == 1;
  }));
  EXPECT_EQ(driven.user.drops, 0);
}

// Whoever made the call stood still before it was sent, or its connection was slow to come: the
// time that the server has for its answer is not what is left of that, and whatever else is under
// way is not in doubt for it.
TEST_F(RedisGenerations, AreNotEndedByACallThatIsSentLate) {
  Proxy proxy(server().port());
  Driven driven(proxy.url());
  redis::Connection& connection = driven.connection;
  ASSERT_TRUE(driven.comes_up());
  static_cast<void>(proxy.freeze(true));
  redis::Call late = redis::Call::made(redis::Call::Kind::check, std::make_shared<Check>(),
                                       Clock::real()->now() - 2s);
  late.written.generation = connection.calls().generation();
  ASSERT_EQ(connection.send(late, driven.ping), redis::Connection::Sent::sent);
  const Instant sent = Clock::real()->now();
  connection.ready(0, sent);
  EXPECT_EQ(driven.user.drops, 0);
  EXPECT_GT(connection.due(), sent);
  connection.ready(0, sent + 1s);
  EXPECT_EQ(driven.user.drops, 1) << "it was not answered in time";
}

/// A connection whose user finds no memory for what it is told.
class RedisUntold : public RedisTest {
 protected:
  void SetUp() override {
    RedisTest::SetUp();
    if (IsSkipped()) return;
    settings_.emplace(redis::Settings::parse(server().url()));
    connection_.emplace(host_, *settings_, nullptr, std::string(), user_);
  }
  void TearDown() override {
    if (connection_) static_cast<void>(connection_->close());
  }
  /// @return whether it comes to that while the connection is wanted and polled.
  template <class Condition>
  [[nodiscard]] bool until(redis::Connection& connection, const Condition& condition) {
    return eventually([&] {
      connection.want(true);
      try {
        connection.ready(0, Clock::real()->now());
      } catch (const std::bad_alloc&) {
        // As whoever polls it in a client does: it goes on.
      }
      return condition();
    });
  }
  template <class Condition>
  [[nodiscard]] bool until(const Condition& condition) {
    return until(*connection_, condition);
  }
  [[nodiscard]] redis::Connection::Sent ping(std::uint32_t tag) {
    std::string bytes;
    redis::append_command(bytes, std::array<std::string_view, 1>{"PING"});
    redis::Call call = Driven::call(connection_->calls().generation());
    call.tag = tag;
    return connection_->send(call, bytes);
  }

  test::FakeHost host_;
  User user_;
  std::optional<redis::Settings> settings_;
  std::optional<redis::Connection> connection_;
};

// Who does not know that it is up, or whose it is, would never use it, and never have it made anew.
// Promise: L7
TEST_F(RedisUntold, OfItsUserThatItIsUpItIsMadeAnew) {
  for (const User::Told told : {User::Told::greeted, User::Told::connected}) {
    user_ = User();
    user_.fails = told;
    ASSERT_TRUE(until([&] { return user_.connections == 1; }));
    EXPECT_EQ(user_.drops, 1);
    EXPECT_TRUE(connection_->up());
    connection_->drop({Errc::unavailable, "for the next one"});
  }
}

// It did not come: a release would be asked for once more, found done, and be told as lost. The
// answers behind it are for other calls, and were read with it.
// Promise: S1
TEST_F(RedisUntold, AnAnswerDidNotCome) {
  for (const User::Told told : {User::Told::matched, User::Told::answered}) {
    user_ = User();
    ASSERT_TRUE(until([&] { return user_.connections == 1; }));
    for (const std::uint32_t tag : {1U, 2U, 3U}) {
      ASSERT_EQ(ping(tag), redis::Connection::Sent::sent);
    }
    user_.fails = told;
    ASSERT_TRUE(until([&] { return user_.drops == 1; }));
    EXPECT_EQ(user_.answers, 0);
    EXPECT_EQ(user_.lost, 3U);
    EXPECT_EQ(user_.first_lost, 1U);
    ASSERT_TRUE(until([&] { return user_.connections == 2; }));
    ASSERT_EQ(ping(4), redis::Connection::Sent::sent);
    ASSERT_TRUE(until([&] { return user_.answers == 1; }));
    EXPECT_EQ(user_.last_answered, 4U);
    EXPECT_FALSE(connection_->outstanding());
    connection_->drop({Errc::unavailable, "for the next one"});
  }
}

// A grant that came by it would be found a second later, perhaps.
TEST_F(RedisUntold, APushCostsTheInbox) {
  redis::Connection inbox(host_, *settings_, nullptr, "mortise:inbox:test", user_);
  ASSERT_TRUE(until(inbox, [&] { return user_.connections == 1; }));
  user_.fails = User::Told::pushed;
  server().talk().expect_ok({"PUBLISH", "mortise:inbox:test", "a word"});
  EXPECT_TRUE(until(inbox, [&] { return user_.drops == 1; }));
  EXPECT_TRUE(until(inbox, [&] { return user_.connections == 2; }));
  static_cast<void>(inbox.close());
}

}  // namespace
}  // namespace mortise::fault
