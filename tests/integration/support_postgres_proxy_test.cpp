// SPDX-License-Identifier: MIT
// Goal: the proxy understands what goes between a program and a PostgreSQL, and plays with it what
// it plays with Redis. Method: streams whose frames are known, in pieces of every size; and a
// private server behind a proxy.
#include "support/eventually.hpp"
#include "support/postgres_frames.hpp"
#include "support/postgres_server.hpp"
#include "support/proxy.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using Of = PostgresFrames::Of;

std::string number(std::uint32_t value, std::size_t bytes) {
  std::string out;
  for (std::size_t i = bytes; i > 0; --i) out += static_cast<char>(value >> 8U * (i - 1) & 0xffU);
  return out;
}

std::string message(const std::string& type, const std::string& body) {
  return type + number(static_cast<std::uint32_t>(body.size()) + 4, 4) + body;
}

const std::string zero(1, '\0');
const std::string startup = message("", number(0x30000, 4) + "user" + zero + "me" + zero + zero);
const std::string may_i_encrypt = message("", number(80877103, 4));

std::string bind(const std::string& statement, std::uint32_t parameters) {
  std::string body = zero + statement + zero + number(1, 2) + number(0, 2) + number(parameters, 2);
  for (std::uint32_t i = 0; i < parameters; ++i) body += number(1, 4) + "x";
  return message("B", body + number(0, 2));
}

std::vector<std::string> cut(Of of, const std::string& all, std::size_t piece) {
  PostgresFrames cutter(of);
  std::vector<std::string> got;
  for (std::size_t at = 0; at < all.size(); at += piece) {
    cutter.feed(std::string_view(all).substr(at, piece));
    while (auto frame = cutter.next()) got.push_back(*std::move(frame));
  }
  EXPECT_FALSE(cutter.opaque());
  return got;
}

std::string joined(const std::vector<std::string>& frames) {
  std::string all;
  for (const std::string& frame : frames) all += frame;
  return all;
}

TEST(PostgresFramesTest, RequestsEndWhereTheServerAnswers) {
  const std::vector<std::string> frames{startup,
                                        message("p", "secret"),
                                        message("Q", "select 1" + zero),
                                        message("P", zero + "select $1" + zero + number(0, 2)) +
                                            bind("", 1) + message("E", zero + number(0, 4)) +
                                            message("S", ""),
                                        bind("named", 0) + message("S", ""),
                                        message("X", "")};
  const std::string all = joined(frames);
  for (std::size_t piece = 1; piece <= all.size(); ++piece) {
    EXPECT_EQ(cut(Of::requests, all, piece), frames) << "in pieces of " << piece;
  }
}

TEST(PostgresFramesTest, RepliesEndWhereTheServerIsReady) {
  const std::string ready = message("Z", "I");
  const std::vector<std::string> frames{message("R", number(0, 4)),
                                        message("S", "a" + zero),
                                        ready,
                                        message("T", "x") + message("D", "y") + ready,
                                        message("A", "ding"),
                                        message("E", "no") + ready};
  const std::string all = joined(frames);
  for (std::size_t piece = 1; piece <= all.size(); ++piece) {
    EXPECT_EQ(cut(Of::replies, all, piece), frames) << "in pieces of " << piece;
  }
}

TEST(PostgresFramesTest, ANotificationComesOutOfTheMiddleOfAReply) {
  const std::string before = message("Z", "I");
  const std::vector<std::string> got =
      cut(Of::replies, before + message("T", "x") + message("A", "ding") + message("Z", "I"), 1);
  EXPECT_EQ(got, (std::vector{before, message("A", "ding"), message("T", "x") + before}));
}

TEST(PostgresFramesTest, TheAnswerToEncryptionIsOneLetterAndWhatIsEncryptedIsOpaque) {
  PostgresFrames asks(Of::requests);
  PostgresFrames answers(Of::replies);
  asks.feed(may_i_encrypt);
  EXPECT_EQ(asks.next(), may_i_encrypt);
  answers.feed("N");
  EXPECT_EQ(answers.next(), "N");
  EXPECT_FALSE(answers.opaque());
  asks.feed(startup);
  EXPECT_EQ(asks.next(), startup);
  PostgresFrames encrypted(Of::requests);
  encrypted.feed("\x16\x03\x01 hello");
  EXPECT_EQ(encrypted.next(), "\x16\x03\x01 hello");
  EXPECT_TRUE(encrypted.opaque());
  PostgresFrames yes(Of::replies);
  yes.feed("S");
  EXPECT_EQ(yes.next(), "S");
  EXPECT_TRUE(yes.opaque());
}

TEST(PostgresFramesTest, KnowsWhatARequestIs) {
  const std::string sync = message("S", "");
  EXPECT_EQ(PostgresFrames::kind_of_request(bind("s", 1) + sync), ProxyRequest::operation);
  EXPECT_EQ(PostgresFrames::kind_of_request(bind("s", 0) + sync), ProxyRequest::other);
  EXPECT_EQ(PostgresFrames::kind_of_request(message("Q", "LISTEN bell" + zero)),
            ProxyRequest::subscription);
  EXPECT_EQ(PostgresFrames::kind_of_request(startup), ProxyRequest::greeting);
  EXPECT_EQ(PostgresFrames::kind_of_request(message("p", "secret")), ProxyRequest::greeting);
  EXPECT_EQ(PostgresFrames::kind_of_request(sync), ProxyRequest::greeting);
}

class PostgresProxyTest : public testing::Test {
 protected:
  void SetUp() override {
    MORTISE_NEEDS_POSTGRES_SERVER();
    server_ = std::make_unique<PostgresServer>();
    server_->talk().run("create table t (i int); grant all on t to shop");
    proxy_.emplace(server_->port(), ProxyOptions{.protocol = ProxyProtocol::postgres});
  }
  [[nodiscard]] Proxy& proxy() { return *proxy_; }
  [[nodiscard]] PostgresTalk user() { return PostgresTalk(PostgresServer::url_by(proxy().port())); }
  [[nodiscard]] std::string count() { return server_->talk().value("select count(*) from t"); }
  static void insert(PostgresTalk& talk) {
    static_cast<void>(talk.rows("insert into t values ($1)", {"1"}));
  }

 private:
  std::unique_ptr<PostgresServer> server_;
  std::optional<Proxy> proxy_;
};

TEST_F(PostgresProxyTest, ForwardsAndCounts) {
  PostgresTalk talk = user();
  for (int i = 0; i < 3; ++i) insert(talk);
  EXPECT_EQ(talk.value("select count(*) from t"), "3");
  EXPECT_EQ(proxy().commands(), 3U);
  EXPECT_EQ(proxy().connections(), 1U);
}

TEST_F(PostgresProxyTest, ALostReplyIsACutAfterTheCommandAndALostRequestOneBefore) {
  proxy().lose_reply(1);
  PostgresTalk talk = user();
  EXPECT_EQ(talk.value("select count(*) from t"), "0");
  EXPECT_THROW(insert(talk), PostgresTalkError);
  EXPECT_EQ(count(), "1");
  proxy().lose_reply(0);
  proxy().lose_request(1);
  PostgresTalk again = user();
  EXPECT_THROW(insert(again), PostgresTalkError);
  EXPECT_EQ(count(), "1");
  EXPECT_EQ(proxy().counts().lost_replies, 1U);
  EXPECT_EQ(proxy().counts().lost_requests, 1U);
}

TEST_F(PostgresProxyTest, ALostNotificationLeavesItsConnectionAlone) {
  PostgresTalk hears = user();
  PostgresTalk tells = user();
  hears.run("listen bell");
  EXPECT_TRUE(eventually([&] { return proxy().connections(Proxy::Connections::inboxes) == 1; }));
  proxy().lose_push(1);
  tells.run("notify bell, 'lost'");
  EXPECT_TRUE(eventually([&] { return proxy().pushes() == 1; }));
  proxy().lose_push(0);
  tells.run("notify bell, 'kept'");
  EXPECT_EQ(hears.notification(patience), "kept");
  EXPECT_EQ(proxy().counts().lost_pushes, 1U);
}

TEST_F(PostgresProxyTest, WhatIsHeldArrivesWhenItsClientHasGone) {
  {
    PostgresTalk talk = user();
    proxy().hold_requests(true);
    talk.send("insert into t values (1)");
    EXPECT_TRUE(eventually([&] { return proxy().held() == 1; }));
  }
  EXPECT_EQ(count(), "0");
  EXPECT_GE(proxy().release_held(), 1U);
  EXPECT_TRUE(eventually([&] { return count() == "1"; }));
}

TEST_F(PostgresProxyTest, ARefusedFrozenAndResetConnectionIsNone) {
  PostgresTalk talk = user();
  EXPECT_EQ(proxy().freeze(true), 1U);
  talk.send("select 1");
  EXPECT_FALSE(talk.answered(50ms));
  proxy().freeze(false);
  EXPECT_TRUE(talk.answered(patience));
  proxy().cut_all();
  EXPECT_THROW(talk.run("select 1"), PostgresTalkError);
  proxy().refuse(true);
  EXPECT_THROW(static_cast<void>(user()), PostgresTalkError);
}

}  // namespace
}  // namespace mortise::test
