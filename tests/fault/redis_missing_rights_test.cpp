// SPDX-License-Identifier: MIT
// Goal: each right that the manual names is needed, and who lacks it is told so at once, with what
// to grant: not a time-out, not the words of somebody else, and not by whoever waits in vain.
// Method: rights are taken from the user of a private server one by one; a client of its own for
// each. That none is missing in the manual is what the contract suite says, which runs with them.
#include "fault/redis_fixture.hpp"
#include "support/redis_store.hpp"

#include <sstream>

namespace mortise::fault {
namespace {

using ::testing::EndsWith;

constexpr const char* secret = "Xu8-very-secret";

class RedisMissingRights : public RedisTest {
 protected:
  /// @param more rights beside those of the manual
  void serve(const std::string& more = {}) {
    RedisServerOptions options;
    options.users = {std::string("shop on >") + secret + " " + contract::least_redis_privilege() +
                     " " + more};
    static_cast<void>(server(options));
  }
  void change(const RedisTalk::Command& rights) {
    RedisTalk::Command words{"ACL", "SETUSER", "shop"};
    words.insert(words.end(), rights.begin(), rights.end());
    server().talk().expect_ok(words);
  }
  [[nodiscard]] Client shop(const std::string& rest = {}) {
    return Client(std::string("redis://shop:") + secret +
                  "@127.0.0.1:" + std::to_string(server().port()) + rest);
  }
  /// What the call throws, at once, is that the user needs this right.
  template <class Callable>
  static void expect_need(const std::string& right, Callable call) {
    Failure failure;
    EXPECT_LT(own_duration_of([&] { failure = failure_of(call); }), 1s) << right;
    EXPECT_EQ(failure.code, Errc::denied) << right << ": " << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("; user 'shop' needs " + right + ": "));
    EXPECT_THAT(failure.text, Not(HasSubstr(secret)));
  }
  /// Whatever a client without it asks for. @param rest of the URL
  void expect_needs(const std::string& right, const std::string& rest = {}) {
    change({"-" + right});
    {
      Client mine = shop(rest);
      Lock lock = mine.make_lock("a");
      expect_need("+" + right, [&] { mine.check(3s); });
      expect_need("+" + right, [&] { static_cast<void>(lock.try_lock()); });
      expect_need("+" + right, [&] { static_cast<void>(lock.try_lock_for(3s)); });
      expect_need("+" + right, [&] { static_cast<void>(lock.holder()); });
    }
    change({"+" + right});
  }
  void expect_works(const std::string& rest = {}) {
    Client mine = shop(rest);
    Lock lock = mine.make_lock("a");
    ASSERT_TRUE(lock.try_lock());
    EXPECT_EQ(lock.release(), Released::released);
  }
};

TEST_F(RedisMissingRights, EachOfTheManualIsNeeded) {
  serve();
  std::istringstream rights(contract::least_redis_privilege());
  std::size_t commands = 0;
  for (std::string right; rights >> right;) {
    // Two that are no commands, one that is for administrators, and the next test's.
    if (!right.starts_with("+") || right == "+client|setname" || right == "+subscribe") continue;
    expect_needs(right.substr(1));
    ++commands;
  }
  EXPECT_GE(commands, 12U);
  expect_works();
  change({"-client"});
  expect_works();
}

TEST_F(RedisMissingRights, WhoMayNotListenMayTakeWhatIsFree) {
  serve("-subscribe");
  expect_works();
  Client holder = client();
  Lock held = holder.make_lock("a");
  held.lock();
  Client mine = shop();
  Lock lock = mine.make_lock("a");
  EXPECT_FALSE(lock.try_lock());
  expect_need("+subscribe", [&] { static_cast<void>(lock.try_lock_for(3s)); });
  held.unlock();
}

// The server's word that a lock is free and its refusal of the inbox come in any order.
TEST_F(RedisMissingRights, WhoMayNotListenIsGrantedWhatIsFreeEachTime) {
  serve("-subscribe");
  for (int i = 0; i < 100; ++i) {
    Client mine = shop();
    const Failure failure = failure_of([&] {
      Lock lock = mine.make_lock("a");
      EXPECT_TRUE(taken_within(lock, 3s));
      lock.unlock();
    });
    ASSERT_FALSE(failure) << "try " << i << ": " << failure.text;
  }
}

// Whoever waits is told by the inbox: that is not to be learnt from the first lock that is held.
TEST_F(RedisMissingRights, ACheckTellsWhoMayNotListen) {
  serve("-subscribe");
  for (int i = 0; i < 20; ++i) {
    Client mine = shop();
    expect_need("+subscribe", [&] { mine.check(3s); });
    expect_need("+subscribe", [&] { mine.check(3s); });
  }
  Client mine = shop();
  expect_need("+subscribe", [&] { mine.check(3s); });
  change({"+subscribe"});
  EXPECT_NO_THROW(mine.check(3s));
}

// A user that does not log in is not looked at when it connects, and a check does it.
TEST_F(RedisMissingRights, ACheckTriesEachCommandThatWritesALock) {
  static_cast<void>(server());
  Client mine = client();
  mine.check(3s);
  for (const std::string right : {"pexpire", "hincrby", "pttl", "hset", "hdel"}) {
    server().talk().expect_ok({"ACL", "SETUSER", "default", "-" + right});
    const Failure failure = failure_of([&] { mine.check(3s); });
    EXPECT_EQ(failure.code, Errc::denied) << right << ": " << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("+" + right));
    server().talk().expect_ok({"ACL", "SETUSER", "default", "+" + right});
    server().talk().expect_ok({"DEL", key("mortise.check")});  // what it could not take back
    EXPECT_NO_THROW(mine.check(3s)) << right;
    EXPECT_EQ(server().talk().command({"EXISTS", key("mortise.check")}).integer, 0);
  }
}

// A check that fails leaves no key, and never changes the time to live of another client's lock.
TEST_F(RedisMissingRights, ACheckLeavesNothingWithoutTheRightToRemoveIt) {
  static_cast<void>(server());
  Client mine = client();
  mine.check(3s);
  const auto keys = [&] { return server().talk().expect_ok({"KEYS", "*"}).items; };
  for (const std::string right : {"zadd", "zrange", "zrem", "pttl", "pexpire", "hincrby"}) {
    server().talk().expect_ok({"ACL", "SETUSER", "default", "-" + right});
    EXPECT_EQ(failure_of([&] { mine.check(3s); }).code, Errc::denied) << right;
    server().talk().expect_ok({"ACL", "SETUSER", "default", "+" + right});
    EXPECT_THAT(keys(), IsEmpty()) << right;
  }
  server().talk().expect_ok({"ACL", "SETUSER", "default", "-hdel"});
  EXPECT_EQ(failure_of([&] { mine.check(3s); }).code, Errc::denied);
  EXPECT_TRUE(eventually([&] { return keys().empty(); })) << "a second later";
  for (const std::string right : {"hdel", "pttl"}) {
    server().talk().expect_ok({"ACL", "SETUSER", "default", "-" + right});
    server().talk().expect_ok({"HSET", key("mortise.check"), "o", "another client"});
    server().talk().expect_ok({"PEXPIRE", key("mortise.check"), "60000"});
    EXPECT_EQ(failure_of([&] { mine.check(3s); }).code, Errc::denied);
    server().talk().expect_ok({"ACL", "SETUSER", "default", "+" + right});
    EXPECT_GT(server().talk().command({"PTTL", key("mortise.check")}).integer, 30'000) << right;
    server().talk().expect_ok({"DEL", key("mortise.check")});
  }
}

TEST_F(RedisMissingRights, ChannelsAreNeeded) {
  serve();
  change({"resetchannels", "&mortise:other:*"});
  Client mine = shop();
  expect_need("&mortise:inbox:*", [&] { mine.check(3s); });
  expect_need("&mortise:inbox:*", [&] { static_cast<void>(mine.make_lock("a").try_lock_for(3s)); });
  change({"&mortise:inbox:*"});
  mine.check(1s);
}

// Who may use some names only uses them.
TEST_F(RedisMissingRights, KeysAreNeededByName) {
  serve();
  change({"resetkeys", "~mortise:{orders*"});
  Client mine = shop();
  Lock allowed = mine.make_lock("orders/1");
  ASSERT_TRUE(allowed.try_lock());
  Lock lock = mine.make_lock("a");
  expect_need("~mortise:*", [&] { static_cast<void>(lock.try_lock()); });
  expect_need("~mortise:*", [&] { static_cast<void>(lock.try_lock_for(3s)); });
  expect_need("~mortise:*", [&] { static_cast<void>(lock.holder()); });
  EXPECT_EQ(allowed.release(), Released::released);
}

TEST_F(RedisMissingRights, MoreIsNeededForWhatOthersDoNotUse) {
  serve(
      "+select +scan +wait +hexists +hlen +hkeys +del +unsubscribe ~*"
      " &redisson_lock__channel:*");
  expect_needs("select", "/2");
  expect_needs("wait", "?replicas=1");
  const std::string redisson = "?interop=redisson";
  for (const char* const right : {"hexists", "hlen", "hkeys", "del"}) {
    expect_needs(right, redisson);
    expect_works();
  }
  expect_works(redisson);
  change({"resetchannels", "&mortise:inbox:*"});
  expect_need("&redisson_lock__channel:*", [&] { shop(redisson).check(3s); });
  change({"&redisson_lock__channel:*", "resetkeys", "~mortise:*"});
  expect_need("~mortise:* and key patterns (~) for the names of its locks",
              [&] { static_cast<void>(shop(redisson).make_lock("a").try_lock()); });
  change({"~*", "-unsubscribe"});
  Client holder = client();
  Lock held = holder.make_lock("a");
  held.lock();
  expect_need("+unsubscribe",
              [&] { static_cast<void>(shop(redisson).make_lock("a").try_lock_for(3s)); });
  change({"+unsubscribe", "-scan"});
  expect_need("+scan", [&] { static_cast<void>(shop().list("")); });
  change({"+scan"});
  held.unlock();
  Client lists = shop(redisson);
  Lock lock = lists.make_lock("c");
  ASSERT_TRUE(lock.try_lock());
  EXPECT_EQ(lists.list("").names.size(), 1U);
}

// Halfway through a script, too: what it has written by then is taken back.
TEST_F(RedisMissingRights, ThoseThatAreTakenAwayAreToldByWhoeverMeetsThem) {
  serve();
  for (const char* const right : {"hset", "hmget", "pexpire", "eval", "time"}) {
    Client mine = shop();
    mine.check(1s);
    change({"-" + std::string(right)});
    Lock lock = mine.make_lock(right);
    const Failure failure = failure_of([&] { static_cast<void>(lock.try_lock()); });
    EXPECT_EQ(failure.code, Errc::denied) << right << ": " << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("; user 'shop' needs "));
    EXPECT_THAT(failure.text, HasSubstr("+" + std::string(right)));
    EXPECT_TRUE(eventually([&] { return !is_held(right); })) << right;
    change({"+" + std::string(right)});
  }
}

}  // namespace
}  // namespace mortise::fault
