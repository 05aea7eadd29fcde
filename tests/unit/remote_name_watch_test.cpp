// SPDX-License-Identifier: MIT
// Goal: a name is looked up now and then while its connection stands, and not otherwise, and its
// move is told once. Method: a name service that the test plays, and a clock that it moves.
#include "remote/name_watch.hpp"
#include "support/eventually.hpp"
#include "support/hand_host.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;
using test::eventually;

base::Endpoint address(const std::string& number, std::uint16_t port) {
  base::Endpoint endpoint = base::NameLookups::read_number(number)->endpoints.front();
  endpoint.set_port(port);
  return endpoint;
}

class WatchedName : public ::testing::Test {
 protected:
  WatchedName() { host_.attach(watch_); }
  ~WatchedName() override { host_.detach(watch_); }

  void leads_to(const std::string& number) {
    const std::lock_guard lock(mutex_);
    number_ = number;
  }
  /// One question and its answer, if it is time for them.
  void turn() {
    host_.step(std::chrono::milliseconds(NameWatch::interval) * 5 / 4);
    host_.poll();
    if (watch_.due() == never) return;
    // This one joins the lookup, and is answered behind the watch.
    base::NameQuestion behind(lookups_);
    behind.ask("db", -1);
    ASSERT_TRUE(eventually([&] { return behind.take().has_value(); }));
    host_.step(NameWatch::interval);
    host_.poll();
  }

  std::mutex mutex_;
  std::string number_ = "10.0.0.1";
  std::atomic<std::size_t> answered_{0};
  std::vector<Failure> moves_;
  test::HandHost host_;
  std::shared_ptr<base::NameLookups> lookups_ = base::NameLookups::make([this](const std::string&) {
    const std::lock_guard lock(mutex_);
    base::Resolution found;
    if (!number_.empty()) found = *base::NameLookups::read_number(number_);
    ++answered_;
    return found;
  });
  NameWatch watch_{host_, "redis db:6379", [this](const Failure& why) { moves_.push_back(why); },
                   lookups_};
};

TEST_F(WatchedName, ThatHasMovedIsTold) {
  watch_.begin("db", address("10.0.0.1", 6379));
  for (int i = 0; i < 5; ++i) turn();
  EXPECT_GE(answered_, 5U);
  EXPECT_TRUE(moves_.empty());
  leads_to("10.0.0.2");
  for (int i = 0; i < 10 && moves_.empty(); ++i) turn();
  ASSERT_EQ(moves_.size(), 1U);
  EXPECT_EQ(moves_.front().code, Errc::unavailable);
  EXPECT_EQ(moves_.front().text,
            "redis db:6379: the host name now leads to 10.0.0.2:6379; closing the connection to "
            "10.0.0.1:6379");
}

TEST_F(WatchedName, IsNotLookedUpWithoutAConnection) {
  turn();
  watch_.begin("db", address("10.0.0.1", 6379));
  watch_.end();
  turn();
  EXPECT_EQ(watch_.due(), never);
  EXPECT_EQ(answered_, 0U);
}

TEST_F(WatchedName, IsNoNumberAndNotLocalhost) {
  for (const char* const host : {"10.0.0.1", "::1", "fe80::1%1", "localhost", "a.localhost", ""}) {
    EXPECT_FALSE(NameWatch::is_for(host)) << host;
    watch_.begin(host, address("10.0.0.1", 6379));
    EXPECT_EQ(watch_.due(), never) << host;
  }
  EXPECT_TRUE(NameWatch::is_for("db.internal"));
}

TEST_F(WatchedName, ADeadNameServerClosesNothing) {
  watch_.begin("db", address("10.0.0.1", 6379));
  leads_to("");
  for (int i = 0; i < 10; ++i) turn();
  EXPECT_TRUE(moves_.empty());
}

TEST_F(WatchedName, OfANewConnectionIsJudgedAnew) {
  watch_.begin("db", address("10.0.0.1", 6379));
  leads_to("10.0.0.2");
  turn();
  turn();
  watch_.end();
  watch_.begin("db", address("10.0.0.2", 6379));
  for (int i = 0; i < 5; ++i) turn();
  EXPECT_TRUE(moves_.empty());
}

// One more connection of a pool is led to the new server, while the others stay with the old one.
TEST_F(WatchedName, OfAnOlderConnectionStaysWatched) {
  watch_.begin("db", address("10.0.0.1", 6379));
  leads_to("10.0.0.2");
  turn();
  watch_.begin("db", address("10.0.0.2", 6379));
  for (int i = 0; i < 5; ++i) turn();
  ASSERT_EQ(moves_.size(), 1U);
  EXPECT_NE(moves_.front().text.find("closing the connection to 10.0.0.1:6379"), std::string::npos);
}

TEST_F(WatchedName, IsLookedUpAlthoughConnectionsKeepComing) {
  watch_.begin("db", address("10.0.0.1", 6379));
  const Instant due = watch_.due();
  host_.step(NameWatch::interval / 2);
  watch_.begin("db", address("10.0.0.1", 6379));
  EXPECT_EQ(watch_.due(), due);
}

TEST_F(WatchedName, WithSeveralAddressesHasNotMoved) {
  watch_.begin("db", address("10.0.0.1", 6379));
  watch_.begin("db", address("10.0.0.1", 6380));
  for (int i = 0; i < 5; ++i) turn();
  EXPECT_TRUE(moves_.empty());
}

}  // namespace
}  // namespace mortise::remote
