// SPDX-License-Identifier: MIT
// Goal: a request that arrives when its client has given its connection up, and asked anew, takes
// nothing and frees nothing (S3, S5). Method: a proxy keeps what the client sends, the client goes
// on by a new connection, and then the proxy delivers.
#include "fault/postgres_fixture.hpp"
#include "postgres/sql.hpp"
#include "postgres/statements.hpp"

#include <future>
#include <optional>
#include <string>
#include <thread>

namespace mortise::fault {
namespace {

class PostgresLateCopy : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (!IsSkipped()) {
      proxy_.emplace(server().port(),
                     test::ProxyOptions{.protocol = test::ProxyProtocol::postgres});
    }
  }
  [[nodiscard]] Proxy& proxy() { return *proxy_; }
  /// A client that is connected, so that what it sends next can be kept.
  [[nodiscard]] Client ready_client() {
    Client mine(PostgresServer::url_by(proxy().port()));
    Lock first = mine.make_lock("first");
    first.lock();
    first.unlock();
    return mine;
  }
  /// What was kept arrives; returns when it has been executed, and its sessions have gone.
  void deliver_all() {
    const std::string count = std::string("select count(*) from (") + sessions + ") as s";
    proxy().hold_requests(false);
    proxy().release_held();
    EXPECT_TRUE(eventually([&] { return proxy().held() == 0 && see(count) == "1"; })) << see(count);
  }
  /// Whoever lets it go, the name becomes free, and no late grant is left behind.
  void expect_no_orphaned_grant(const std::string& name) {
    EXPECT_TRUE(eventually([&] { return !is_held(name); }, 3s))
        << "an orphaned grant holds the name";
    Client other = client();
    Lock lock = other.make_lock(name);
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  }

 private:
  std::optional<Proxy> proxy_;
};

// Promise: S5
TEST_F(PostgresLateCopy, ALateRequestToTakeTakesNothing) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  proxy().hold_requests(true);
  // The first request is kept; the client gives that connection up and asks on another.
  ASSERT_TRUE(lock.try_lock_for(patience));
  ASSERT_GT(proxy().held(), 0U);
  EXPECT_EQ(lock.release(), Released::released);
  const std::uint64_t last = number("a");
  proxy().hold_requests(false);
  proxy().release_held();
  // The late one has been executed when its session has gone.
  ASSERT_TRUE(eventually([&] { return proxy().held() == 0; }));
  expect_no_orphaned_grant("a");
  EXPECT_GT(number("a"), last);
}

// As before, where no release has come in between.
// Promise: S5
TEST_F(PostgresLateCopy, ALateRequestTakesNothingAfterTheEndOfTheLease) {
  // "first" was locked before, "a" is new to the server.
  for (const std::string name : {"a", "first"}) {
    Client mine = ready_client();
    Lock lock = mine.make_lock(name, {.lease = 1200ms, .renew = false});
    proxy().hold_requests(true);
    ASSERT_TRUE(lock.try_lock_for(patience));
    ASSERT_GT(proxy().held(), 0U);
    const std::uint64_t last = number(name);
    ASSERT_TRUE(eventually([&] { return !is_held(name); }, 3s));
    deliver_all();
    EXPECT_EQ(number(name), last) << "an orphaned grant took " << name;
    EXPECT_EQ(lock.release(), Released::was_lost);
  }
}

// So the grant of one copy is never told while another one is on its way behind it, which would
// come after the release. Promise: S5
TEST_F(PostgresLateCopy, WhatIsAnsweredInTimeIsNotRepeatedBehindItself) {
  Client mine = ready_client();
  Party taker(std::move(mine), "a", {.lease = 1200ms, .renew = false});
  proxy().delay(300ms, 300ms, Proxy::Direction::to_client);
  auto taken = taker.start();
  ASSERT_TRUE(eventually([&] { return is_held("a"); }));
  proxy().hold_requests(true);
  ASSERT_TRUE(comes(taken));
  EXPECT_EQ(proxy().held(), 0U) << "it was repeated";
  const std::uint64_t last = number("a");
  proxy().delay(0ns, 0ns);
  proxy().hold_requests(false);
  EXPECT_EQ(taker.release(), Released::released);
  EXPECT_EQ(number("a"), last);
  EXPECT_FALSE(is_held("a"));
}

TEST_F(PostgresLateCopy, ALateRequestOfACallThatGaveUpTakesNothing) {
  // "first" was locked before, "a" is new to the server.
  for (const std::string name : {"a", "first"}) {
    Client mine = ready_client();
    Lock lock = mine.make_lock(name, {.lease = 20s});
    proxy().hold_requests(true);
    std::error_code error;
    ASSERT_FALSE(lock.try_lock_for(200ms, error));
    EXPECT_TRUE(is_retryable(error)) << error.message();
    // The library has taken the attempt back, on another connection, before its first copy comes.
    ASSERT_TRUE(eventually([&] {
      return see("select buried is not null from mortise.lock where name = convert_to($1, 'UTF8')",
                 {name}) == "t";
    })) << "nothing keeps the late copy from taking the name";
    proxy().hold_requests(false);
    proxy().release_held();
    EXPECT_FALSE(happens_within([&] { return is_held(name); }, 300ms))
        << "an orphaned grant holds the name";
    expect_no_orphaned_grant(name);
  }
}

// A look writes nothing, and so would leave nothing behind that refuses the late one. For a try
// this takes a connection that breaks on the client's side alone, so its statements are sent by
// hand.
// Promise: S5
TEST_F(PostgresLateCopy, ACopyThatIsToldOfTheHolderLeavesTheOlderOnesNothingToTake) {
  Client theirs = client();
  Lock held = theirs.make_lock("a");
  held.lock();
  PostgresTalk talk(server().url());
  const auto ask = [&](int how) {
    return talk.value(
        "select convert_from((" + postgres::fill_in(postgres::sql::ask, "mortise") + "), 'UTF8')",
        {"a", "me", "20000000", "", std::to_string(how)});
  };
  EXPECT_THAT(ask(2 * 16 + 4), ::testing::StartsWith("B "));
  held.unlock();
  EXPECT_EQ(ask(1 * 16), "R");
  EXPECT_FALSE(is_held("a"));
}

// A tombstone is forgotten after five minutes; a name that was once in doubt is then as fast as
// every other one.
TEST_F(PostgresLateCopy, ATombstoneGoesWithTheNextGrantAfterItsTime) {
  PostgresTalk talk = server().user();
  const auto take = [&](const std::string& who, int how) {
    return talk.value("select mortise.take_apart('a', $1, 60000000, '', $2::bigint)",
                      {who, std::to_string(how)});
  };
  const auto free = [&] {
    server().talk().run("update mortise.lock set expires_at = '-infinity'");
  };
  const auto buried = [&] { return see("select buried from mortise.lock"); };
  EXPECT_THAT(take("\\x01", 2 * 16 + 4), Not(::testing::StartsWith("R")));
  free();
  EXPECT_THAT(take("\\x02", 16), Not(::testing::StartsWith("R")));
  EXPECT_THAT(buried(), HasSubstr("\"01\"")) << "it was forgotten too early";
  free();
  server().talk().run("update mortise.lock set buried = '{\"01\": [2, 1000]}'");
  EXPECT_THAT(take("\\x02", 16), Not(::testing::StartsWith("R")));
  EXPECT_EQ(buried(), "") << "the name is slow for ever";
}

// Each tombstone has all of the row written anew: a client that leaves one at each request feeds a
// storm.
TEST_F(PostgresLateCopy, AWaiterBuriesItsOlderCopiesOnce) {
  Client theirs = client();
  Lock held = theirs.make_lock("a", {.lease = 60s});
  held.lock();
  Client mine = ready_client();
  Party waiter(std::move(mine), "a", {.lease = 60s});
  proxy().hold_requests(true);
  auto served = waiter.start();
  const auto tombstones = [&] { return see("select buried from mortise.lock where name = 'a'"); };
  ASSERT_TRUE(eventually([&] { return !tombstones().empty(); }));
  const auto written = [&] { return see("select xmin from mortise.lock where name = 'a'"); };
  proxy().hold_requests(false);
  proxy().release_held();
  // Its question of each second writes nothing, once somebody knows that it waits.
  std::string before = written();
  EXPECT_TRUE(eventually([&] { return std::exchange(before, written()) == written(); }));
  EXPECT_FALSE(happens_within([&] { return written() != before; }, 2500ms)) << "it buries for ever";
  held.unlock();
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
}

TEST_F(PostgresLateCopy, ALateReleaseFreesNoLaterHold) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  lock.lock();
  proxy().hold_requests(true);
  // It is repeated on a new connection, whether the caller sees it or not.
  static_cast<void>(lock.release());
  ASSERT_TRUE(eventually([&] { return !is_held("a"); }, 5s)) << "the release was not repeated";
  ASSERT_TRUE(lock.try_lock_for(patience));
  const Token token = lock.token();
  proxy().hold_requests(false);
  proxy().release_held();
  ASSERT_TRUE(eventually([&] { return proxy().held() == 0; }));
  // Requests on one connection are executed in turn: a later one has come back.
  EXPECT_FALSE(client().make_lock("a").try_lock());
  EXPECT_TRUE(is_held("a"));
  EXPECT_EQ(number("a"), grant_of(token));
  EXPECT_EQ(lock.release(), Released::released);
}

// Promise: S4
TEST_F(PostgresLateCopy, ALateRenewalBringsNothingBack) {
  const auto record = std::make_shared<Record>();
  Client mine(PostgresServer::url_by(proxy().port()), {.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 900ms});
  lock.lock();
  proxy().hold_requests(true);
  proxy().refuse(true);
  ASSERT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, 3s));
  ASSERT_TRUE(eventually([&] { return !is_held("a"); }, 3s));
  proxy().release_held();
  proxy().refuse(false);
  EXPECT_FALSE(happens_within([&] { return is_held("a"); }, 500ms)) << "a lapsed lock came back";
  EXPECT_EQ(lock.release(), Released::was_lost);
}

// It is about what was looked at: whoever runs the key anew keeps what came of it.
TEST_F(PostgresLateCopy, ALateRequestToForgetForgetsNothingThatCameLater) {
  for (const bool looked : {false, true}) {
    Client mine = ready_client();
    Client other = client();
    other.make_once("a").run([] { return std::string("first"); });
    // What it looks by is kept; or, once that is answered, what it forgets by.
    if (looked) proxy().delay(200ms, 200ms, Proxy::Direction::to_client);
    if (!looked) proxy().hold_requests(true);
    std::error_code error;
    auto forgets =
        std::async(std::launch::async, [&] { return mine.make_once("a").forget(error); });
    if (looked) {
      std::this_thread::sleep_for(100ms);
      proxy().hold_requests(true);
    }
    ASSERT_TRUE(eventually([&] { return proxy().held() > 0; }));
    proxy().delay(0ns, 0ns);
    static_cast<void>(forgets.get());
    // Told or in doubt: the caller has it said again.
    EXPECT_TRUE(other.make_once("a").forget());
    EXPECT_EQ(other.make_once("a").run([] { return std::string("second"); }).result(), "second");
    other.close();
    mine.close();
    proxy().hold_requests(false);
    proxy().release_held();
    EXPECT_TRUE(eventually(
        [&] { return see(std::string("select count(*) from (") + sessions + ") as s") == "0"; }));
    EXPECT_EQ(see("select encode(bytes, 'escape') from mortise.once where state = 'Y'"), "second")
        << looked;
    EXPECT_TRUE(client().make_once("a").forget());
  }
}

}  // namespace
}  // namespace mortise::fault
