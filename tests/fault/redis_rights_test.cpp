// SPDX-License-Identifier: MIT
// Goal: whoever lacks a password or a right is told at once and in the server's words, and leaves
// nothing behind; no message holds a password. Method: users of a private server, each of whom
// lacks one thing.
#include "fault/redis_fixture.hpp"
#include "support/redis_store.hpp"

#include <deque>

namespace mortise::fault {
namespace {

constexpr const char* password = "Xu8-very-secret";

class RedisRights : public RedisTest {
 protected:
  /// The server knows "shop", who has the rights of the manual and these, which win.
  void serve(const std::string& rights, const std::string& password_of_default = {}) {
    RedisServerOptions options;
    options.password = password_of_default;
    options.users = {std::string("shop on >") + password + " " + contract::least_redis_privilege() +
                     " " + rights};
    static_cast<void>(server(options));
  }
  [[nodiscard]] std::string url(const std::string& credentials) {
    return "redis://" + credentials + "@127.0.0.1:" + std::to_string(server().port());
  }
  [[nodiscard]] Client shop() { return Client(url(std::string("shop:") + password)); }

  /// Every way to ask is refused at once, whatever the wait. @return the words
  std::string expect_denied(Client& client) {
    Lock lock = client.make_lock("a");
    std::string words;
    const auto expect = [&](const char* what, auto call) {
      Failure failure;
      EXPECT_LT(own_duration_of([&] { failure = failure_of(call); }), 1s) << what;
      EXPECT_EQ(failure.code, Errc::denied) << what << ": " << failure.text;
      EXPECT_THAT(failure.text, Not(HasSubstr(password)));
      words = failure.text;
    };
    expect("check", [&] { client.check(10s); });
    expect("try_lock", [&] { static_cast<void>(lock.try_lock()); });
    expect("try_lock_for", [&] { static_cast<void>(lock.try_lock_for(10s)); });
    expect("lock", [&] { lock.lock(); });
    expect("holder", [&] { static_cast<void>(lock.holder()); });
    return words;
  }
};

TEST_F(RedisRights, NoPasswordWhereOneIsNeededIsDeniedAtOnce) {
  serve("", password);
  Client mine = client();
  EXPECT_THAT(expect_denied(mine), HasSubstr("NOAUTH"));
}

TEST_F(RedisRights, AWrongPasswordIsDeniedAtOnce) {
  serve("", password);
  Client mine(url(":Wrong-password-1"));
  const std::string words = expect_denied(mine);
  EXPECT_THAT(words, HasSubstr("WRONGPASS"));
  EXPECT_THAT(words, Not(HasSubstr("Wrong-password-1")));
  Client nobody(url(std::string("nobody:") + password));
  EXPECT_THAT(expect_denied(nobody), HasSubstr("WRONGPASS"));
}

TEST_F(RedisRights, APasswordWhereNoneIsSetIsDeniedInWords) {
  Client mine(url(std::string(":") + password));
  EXPECT_THAT(expect_denied(mine), HasSubstr("AUTH"));
}

// The parameter, the file and the reason; once each.
TEST_F(RedisRights, APasswordFileThatCannotBeReadIsNamed) {
  const std::string address = "127.0.0.1:" + std::to_string(server().port());
  Client mine("redis://" + address + "?password-file=/no/such/file");
  const Failure failure = failure_of([&] { mine.check(3s); });
  EXPECT_EQ(failure.code, Errc::misconfigured);
  EXPECT_EQ(failure.text, "redis " + address +
                              ": the file given by password-file cannot be read: No such file or"
                              " directory: misconfigured");
}

// Who does not log in is not looked at, and told by what it asks for.
TEST_F(RedisRights, WhatTheUserWithoutAPasswordLacksIsNamed) {
  Client mine = client();
  const auto change = [&](const RedisTalk::Command& rights) {
    RedisTalk::Command words{"ACL", "SETUSER", "default"};
    words.insert(words.end(), rights.begin(), rights.end());
    server().talk().expect_ok(words);
  };
  change({"-@scripting"});
  EXPECT_THAT(expect_denied(mine), HasSubstr("; user 'default' needs +eval"));
  change({"+@scripting", "-hset"});
  EXPECT_THAT(failure_of([&] { mine.check(10s); }).text, HasSubstr("+hset"));
  const Failure failure = failure_of([&] { static_cast<void>(mine.make_lock("a").try_lock()); });
  EXPECT_EQ(failure.code, Errc::denied);
  EXPECT_THAT(failure.text, HasSubstr("; user 'default' needs "));
  EXPECT_THAT(failure.text, HasSubstr("+hset"));
  change({"+hset", "resetkeys", "~other:*"});
  EXPECT_THAT(expect_denied(mine), HasSubstr("; user 'default' needs ~mortise:*"));
  change({"~*"});
  Client other = client();
  Lock held = other.make_lock("b");
  held.lock();
  change({"-subscribe"});
  Client waits = client();
  EXPECT_THAT(failure_of([&] { static_cast<void>(waits.make_lock("b").try_lock_for(10s)); }).text,
              HasSubstr("; user 'default' needs +subscribe"));
  change({"+subscribe"});
  held.unlock();
  EXPECT_NO_THROW(mine.check(patience));
}

TEST_F(RedisRights, NoRightToTheKeysIsDeniedAtOnce) {
  serve("resetkeys ~other:*");
  Client mine = shop();
  Lock lock = mine.make_lock("a");
  for (const auto wait : {std::chrono::nanoseconds(0), std::chrono::nanoseconds(10s), forever}) {
    Failure failure;
    EXPECT_LT(own_duration_of([&] {
                failure = failure_of([&] { static_cast<void>(lock.acquire({.wait = wait})); });
              }),
              1s);
    EXPECT_EQ(failure.code, Errc::denied) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("NOPERM"));
  }
}

TEST_F(RedisRights, NoRightToScriptsIsDeniedAtOnce) {
  serve("-eval -evalsha");
  Client mine = shop();
  Lock lock = mine.make_lock("a");
  const Failure failure = failure_of([&] { lock.lock(); });
  EXPECT_EQ(failure.code, Errc::denied);
  EXPECT_THAT(failure.text, HasSubstr("NOPERM"));
  EXPECT_EQ(server().talk().command({"EXISTS", key("a")}).integer, 0);
}

TEST_F(RedisRights, NoRightToListenDeniesWaitingAndLeavesNothing) {
  serve("-subscribe");
  Client holder = client();
  Lock held = holder.make_lock("a");
  held.lock();
  Client mine = shop();
  Lock lock = mine.make_lock("a");
  Failure failure;
  EXPECT_LT(own_duration_of([&] { failure = failure_of([&] { lock.lock(); }); }), 1s);
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("; user 'shop' needs +subscribe"));
  EXPECT_TRUE(come_to_wait("a", 0));
  held.unlock();
  expect_free("a");
}

// Who may not publish any more: a new client is refused.
TEST_F(RedisRights, AReleaseThatMayNotPublishLosesNoWaiter) {
  serve("");
  Client mine = shop();
  Lock lock = mine.make_lock("a");
  lock.lock();
  server().talk().expect_ok({"ACL", "SETUSER", "shop", "-publish"});
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  EXPECT_EQ(lock.release(), Released::released);
  // It asks again after a fallback period.
  EXPECT_TRUE(comes(served, 1s + slack));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_F(RedisRights, RightsThatAreTakenAwayHaveTheHoldLostByTheClock) {
  serve("");
  Client mine = shop();
  Lock lock = mine.make_lock("a", {.lease = 900ms});
  lock.lock();
  server().talk().expect_ok({"ACL", "SETUSER", "shop", "resetkeys"});
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, 900ms + allowance + slack));
  EXPECT_EQ(lock.valid_for(), 0ns);
  EXPECT_EQ(lock.release(), Released::was_lost);
  server().talk().expect_ok({"ACL", "SETUSER", "shop", "~mortise:*"});
  EXPECT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
}

// Promise: L8
TEST_F(RedisRights, ANameThatIsTakenAwayCostsNoOtherHold) {
  serve("");
  Client mine = shop();
  std::deque<Lock> kept;
  for (int i = 0; i < 5; ++i) {
    kept.push_back(mine.make_lock("kept/" + std::to_string(i), {.lease = 2s}));
    kept.back().lock();
  }
  Lock taken = mine.make_lock("taken", {.lease = 2s});
  taken.lock();
  server().talk().expect_ok({"ACL", "SETUSER", "shop", "resetkeys", "~mortise:{kept*"});
  EXPECT_TRUE(eventually([&] { return taken.lost().stop_requested(); }, 2s + allowance + slack));
  for (Lock& lock : kept) {
    EXPECT_FALSE(lock.lost().stop_requested());
    EXPECT_EQ(lock.release(), Released::released);
  }
}

}  // namespace
}  // namespace mortise::fault
