// SPDX-License-Identifier: MIT
// Goal: who waits hears each server that says that the lock may be free, also one that had nothing
// to do with its holder: that one may have another majority by now, which has told somebody else.
// Method: the backend alone, which nobody has ask again, and votes that the test gives by hand.
#include "fault/redlock_fixture.hpp"
#include "redlock/redlock_backend.hpp"
#include "support/one_shot_host.hpp"

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace mortise::fault {
namespace {

class RedlockWords : public RedlockTest {
 protected:
  std::string call(std::size_t server, const redis::Script& script,
                   std::initializer_list<std::string_view> arguments) {
    std::vector<std::string> words{"EVAL", std::string(script.text), "1", key("a")};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return servers()[server].talk().expect_ok(words).items.at(0).text;
  }
  void vote(std::size_t server, std::string_view attempt) {
    ASSERT_EQ(call(server, redlock::scripts::acquire,
                   {attempt, "1", "8000000000000000", "30000", "7", "", "00"}),
              "vote");
  }
  /// Nobody is told.
  void lose_votes(std::size_t server) {
    servers()[server].talk().expect_ok(
        {"DEL", key("a"), key("a") + ":queue", key("a") + ":contacts"});
  }
  [[nodiscard]] bool is_listed(std::size_t server) {
    return servers()[server].talk().expect_ok({"ZCARD", key("a") + ":queue"}).integer > 0;
  }
};

// Promise: L2
TEST_F(RedlockWords, OfAServerThatTheHolderHasNotAreHeardAsWell) {
  static_cast<void>(servers(3));
  for (const std::size_t i : {0U, 1U}) ASSERT_NO_FATAL_FAILURE(vote(i, "holder"));
  ASSERT_NO_FATAL_FAILURE(vote(2, "other"));
  test::OneShotHost host;
  redlock::RedlockBackend backend(redlock::Settings::parse(servers().url()));
  backend.start(host);
  const auto asked = std::make_shared<Acquisition>(Acquisition::Request{
      .attempt = {1, 2, 3}, .name = "a", .lease = 30s, .label = "", .wait = true});
  backend.acquire(asked);
  EXPECT_TRUE(eventually([&] {
    host.run(*asked, 10ms);
    return is_listed(0) && is_listed(1) && is_listed(2);
  }));
  host.run(*asked, 100ms);  // what it asked by then is answered
  for (const std::size_t i : {0U, 1U}) lose_votes(i);
  EXPECT_EQ(call(2, redlock::scripts::release, {"other", "", "1", "1", ""}), "released");
  host.run(*asked, patience);
  EXPECT_NE(asked->grant().number, 0U) << words("a");
  backend.stop();
}

// The other two are enough to hear of every release that a majority takes part in, so the waiter
// does not look by itself any more. Promise: L2
TEST_F(RedlockWords, OfAServerWhoseInboxComesUpDuringARoundAreHeardAsWell) {
  static_cast<void>(servers(3));
  proxied();
  for (const std::size_t i : {0U, 1U}) ASSERT_NO_FATAL_FAILURE(vote(i, "holder"));
  ASSERT_NO_FATAL_FAILURE(vote(2, "other"));
  test::OneShotHost host;
  redlock::RedlockBackend backend(redlock::Settings::parse(servers().url()));
  backend.start(host);
  const auto commands = [&](std::size_t server) { return servers().proxy(server).commands(); };
  const auto acquisition = [](std::uint64_t number, bool wait) {
    return std::make_shared<Acquisition>(Acquisition::Request{
        .attempt = {1, 2, number}, .name = "a", .lease = 30s, .label = "", .wait = wait});
  };
  // Has all connections for commands, and no inbox.
  std::uint64_t tries = 0;
  ASSERT_TRUE(eventually([&] {
    const auto first = acquisition(++tries, false);
    backend.acquire(first);
    host.run(*first, patience);
    return commands(0) > 0 && commands(1) > 0 && commands(2) > 0;
  }));
  servers().proxy(2).refuse(true);
  const auto asked = acquisition(++tries, true);
  backend.acquire(asked);
  ASSERT_TRUE(eventually([&] {
    host.run(*asked, 10ms);
    return is_listed(0) && is_listed(1);
  }));
  host.run(*asked, 100ms);  // what it asked by then is answered
  ASSERT_FALSE(is_listed(2));
  // A round that lasts.
  const std::uint64_t before = commands(2);
  for (const std::size_t i : {0U, 1U}) servers().proxy(i).freeze(true);
  backend.acquire(asked);
  servers().proxy(2).refuse(false);
  ASSERT_TRUE(eventually([&] {
    host.run(*asked, 10ms);
    return servers().proxy(2).connections(Proxy::Connections::inboxes) == 1;
  }));
  host.run(*asked, 100ms);  // it knows that the inbox is up
  EXPECT_EQ(commands(2), before + 1);
  for (const std::size_t i : {0U, 1U}) servers().proxy(i).freeze(false);
  EXPECT_TRUE(eventually([&] {
    host.run(*asked, 10ms);
    return is_listed(2);
  })) << words("a");
  backend.stop();
}

}  // namespace
}  // namespace mortise::fault
