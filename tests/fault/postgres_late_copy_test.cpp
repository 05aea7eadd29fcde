// SPDX-License-Identifier: MIT
// Goal: a request that arrives when its client has given its connection up, and asked anew, takes
// nothing and frees nothing (S3, S5). Method: a proxy keeps what the client sends, the client goes
// on by a new connection, and then the proxy delivers.
#include "fault/postgres_fixture.hpp"

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

// It comes before its moment, and is granted the name, which the client gives back by then; or
// after its moment, and takes nothing.
// Promise: S5
TEST_F(PostgresLateCopy, ALateRequestOfACallThatGaveUpCostsTheNameASecond) {
  // "first" was locked before, "a" is new to the server.
  for (const std::string name : {"a", "first"}) {
    for (const bool is_void : {false, true}) {
      Client mine = ready_client();
      Lock lock = mine.make_lock(name, {.lease = 20s});
      proxy().hold_requests(true);
      std::error_code error;
      ASSERT_FALSE(lock.try_lock_for(200ms, error));
      EXPECT_TRUE(is_retryable(error)) << error.message();
      if (is_void) std::this_thread::sleep_for(1100ms);
      proxy().hold_requests(false);
      proxy().release_held();
      if (is_void) {
        EXPECT_FALSE(happens_within([&] { return is_held(name); }, 300ms)) << "it took " << name;
      }
      expect_no_orphaned_grant(name);
    }
  }
}

// Promise: S5
TEST_F(PostgresLateCopy, ARequestThatComesAfterItsMomentChangesNothing) {
  PostgresTalk talk = server().user();
  const auto take = [&](const std::string& function, const std::string& lease,
                        const std::string& label, const std::string& void_after) {
    return talk.value("select mortise." + function + "('a', '\\x01', $1, $2, 0, '', $3)",
                      {lease, label, void_after});
  };
  const std::string permit = "\\x010000000000000002";
  for (const bool is_known : {false, true}) {
    EXPECT_EQ(take("take", "1000", "", "2020-01-01"), "V");
    EXPECT_EQ(take("take", "-1000", "\\x01", "2020-01-01"), "V");
    EXPECT_EQ(take("take_gate", "-1000", permit, "2020-01-01"), "V");
    if (is_known) break;
    EXPECT_EQ(see("select count(*) from mortise.lock"), "0");
    EXPECT_EQ(see("select count(*) from mortise.gate"), "0");
    EXPECT_THAT(take("take", "1000", "", "infinity"), ::testing::MatchesRegex("[0-9]+"));
    EXPECT_THAT(take("take_gate", "-1000", permit, "infinity"), ::testing::MatchesRegex("[0-9]+"));
    ASSERT_TRUE(eventually([&] { return !is_held("a"); }));
  }
}

// The row of a name that is new comes with the commit of the request, which waits: a look finds no
// row before that, and must not take it for the end.
// Promise: S5
TEST_F(PostgresLateCopy, ALookWaitsForARequestThatInsertsTheRow) {
  PostgresTalk inserts = server().user();
  inserts.run("begin; select mortise.take('a', '\\x01', 20000000, '', 0, '', 'infinity')");
  PostgresTalk looks = server().user();
  EXPECT_EQ(looks.value("select mortise.cancel('a', '\\x01', true)"), "L");
  inserts.run("commit");
  EXPECT_THAT(looks.value("select mortise.cancel('a', '\\x01', true)"),
              ::testing::StartsWith("G "));
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

// The server grants the run in time, and the caller has left before the answer arrives.
// Promise: O3
TEST_F(PostgresLateCopy, ARunThatIsGrantedToNoCallerLeavesTheOutcomeThatStood) {
  Client other = client();
  mortise::Run failing = other.make_once("a").begin();
  ASSERT_TRUE(failing);
  EXPECT_EQ(failing.fail("no").state(), KeyState::failed);
  Client mine = ready_client();
  proxy().delay(300ms, 300ms, Proxy::Direction::to_client);
  std::error_code ec;
  EXPECT_FALSE(mine.make_once("a", {.wait = 50ms, .lease = 20s}).begin(ec));
  EXPECT_EQ(ec, Errc::in_doubt) << ec.message();
  EXPECT_TRUE(eventually([&] { return other.make_once("a").look().state() == KeyState::failed; }));
  const Outcome outcome = other.make_once("a", {.repeat = Repeat::never}).run([] {
    ADD_FAILURE() << "it was run";
    return std::string();
  });
  EXPECT_EQ(outcome.reason(), "no");
  EXPECT_EQ(outcome.number(), 1U);
}

// A late request to forget names the record that it found. A later record stays.
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
