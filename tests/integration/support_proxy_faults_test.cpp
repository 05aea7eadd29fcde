// SPDX-License-Identifier: MIT
// Goal: every fault of single messages that the proxy claims to play is really played, and nothing
// else happens. Method: clients and a private Redis server on its two sides, whose views are
// compared.
#include "integration/support_proxy_fixture.hpp"
#include "support/eventually.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

TEST_F(ProxyTest, DelaysKeepTheOrder) {
  RedisTalk client = talk();
  proxy().delay(1ms, 20ms);
  for (int i = 0; i < 20; ++i) client.send(increment);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.receive(patience)->integer, i + 1);
  proxy().delay(40ms, 40ms, Proxy::Direction::to_client);
  EXPECT_GE(duration_of([&] { client.command({"PING"}); }), 40ms);
  proxy().delay(40ms, 40ms, Proxy::Direction::both);
  EXPECT_GE(duration_of([&] { client.command({"PING"}); }), 80ms);
}

TEST_F(ProxyTest, ALostReplyIsAResetAfterTheCommand) {
  RedisTalk client = talk();
  proxy().lose_reply(1);
  EXPECT_EQ(client.command({"PING"}).text, "PONG");
  EXPECT_THROW(client.command(increment), RedisTalkError);
  EXPECT_EQ(value(), "1");
  EXPECT_EQ(proxy().counts().lost_replies, 1U);
  proxy().lose_reply(0);
  EXPECT_EQ(talk().command(increment).integer, 2);
}

TEST_F(ProxyTest, ALostRequestIsAResetBeforeTheCommand) {
  RedisTalk client = talk();
  proxy().lose_request(1);
  EXPECT_EQ(client.command({"SET", "key", "5"}).text, "OK");
  EXPECT_THROW(client.command(increment), RedisTalkError);
  EXPECT_EQ(value(), "5");
  EXPECT_EQ(proxy().counts().lost_requests, 1U);
  EXPECT_EQ(proxy().commands(), 1U);
}

TEST_F(ProxyTest, ALostMessageLeavesItsConnectionAlone) {
  RedisTalk subscriber = inbox();
  proxy().lose_push(1);
  EXPECT_EQ(publish("lost"), 1);
  EXPECT_TRUE(eventually([&] { return proxy().pushes() == 1; }));
  proxy().lose_push(0);
  EXPECT_EQ(publish("kept"), 1);
  const auto push = subscriber.receive(patience);
  ASSERT_TRUE(push);
  EXPECT_EQ(push->items.at(2).text, "kept");
  EXPECT_EQ(proxy().counts().lost_pushes, 1U);
}

TEST_F(ProxyTest, TheSeedDecides) {
  const auto lost = [this](std::uint64_t seed) {
    Proxy seeded(server().port(), {.seed = seed});
    RedisTalk subscriber(seeded.port());
    subscriber.expect_ok({"SUBSCRIBE", "inbox"});
    seeded.lose_push(0.5);
    RedisTalk publisher = server().talk();
    for (int i = 0; i < 64; ++i) {
      publisher.expect_ok({"PUBLISH", "inbox", std::to_string(i)});
    }
    EXPECT_TRUE(eventually([&] { return seeded.pushes() == 64; }));
    seeded.lose_push(0);
    publisher.expect_ok({"PUBLISH", "inbox", "end"});
    std::string kept;
    while (const auto push = subscriber.receive(patience)) {
      if (push->items.at(2).text == "end") break;
      kept += push->items.at(2).text + ' ';
    }
    return kept;
  };
  const std::string first = lost(1);
  EXPECT_EQ(first, lost(1));
  EXPECT_NE(first, lost(2));
}

TEST_F(ProxyTest, MessagesAloneCanBeLate) {
  RedisTalk subscriber = inbox();
  RedisTalk client = talk();
  proxy().delay_push(100ms, 100ms);
  const auto late = duration_of([&] {
    EXPECT_EQ(client.expect_ok({"PUBLISH", "inbox", "late"}).integer, 1);
    EXPECT_EQ(client.command({"PING"}).text, "PONG");
    EXPECT_FALSE(subscriber.receive(0ms));
    EXPECT_TRUE(subscriber.receive(patience));
  });
  EXPECT_GE(late, 100ms);
}

TEST_F(ProxyTest, AReplyIsCutAfterSoManyBytes) {
  const std::string whole = "+PONG\r\n";
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    proxy().cut_reply_after(size);
    Plain client(proxy().port());
    client.send("*1\r\n$4\r\nPING\r\n");
    EXPECT_TRUE(client.read_to_end());
    EXPECT_EQ(client.got(), whole.substr(0, size));
    EXPECT_EQ(client.error(), ECONNRESET);
  }
  EXPECT_EQ(proxy().counts().mishaps, whole.size() + 1);
  EXPECT_EQ(talk().command({"PING"}).text, "PONG");
}

TEST_F(ProxyTest, AMishapWaitsForItsKindOfReply) {
  RedisTalk client = talk();
  proxy().cut_reply_after(1, Proxy::Replies::scripts);
  EXPECT_EQ(client.command({"PING"}).text, "PONG");
  EXPECT_THROW(client.command(increment), RedisTalkError);
  RedisTalk subscriber = inbox();
  proxy().garbage("*3\r\n$-5\r\n", Proxy::Replies::pushes);
  EXPECT_EQ(talk().command(increment).integer, 2);
  EXPECT_EQ(publish("x"), 1);
  EXPECT_THROW(static_cast<void>(subscriber.receive(patience)), RedisTalkError);
  proxy().garbage(":7\r\n");
  EXPECT_EQ(talk().command({"PING"}).integer, 7);
  EXPECT_EQ(talk().command({"PING"}).text, "PONG");
}

TEST_F(ProxyTest, AnOperationIsReplacedByAnotherCommand) {
  RedisTalk client = talk();
  proxy().replace_request("*1\r\n$4\r\nPING\r\n", 1);
  EXPECT_EQ(client.command({"ECHO", "not of a lock"}).text, "not of a lock");
  EXPECT_EQ(client.command(increment).integer, 1);
  EXPECT_TRUE(proxy().replacement_is_ahead());
  EXPECT_EQ(client.command(increment).text, "PONG");
  EXPECT_FALSE(proxy().replacement_is_ahead());
  EXPECT_EQ(client.command(increment).integer, 2) << "it was executed";
}

TEST_F(ProxyTest, RepliesDripByteByByte) {
  Plain client(proxy().port());
  proxy().drip(5ms);
  const auto time = duration_of([&] {
    client.send("*1\r\n$4\r\nPING\r\n");
    EXPECT_TRUE(client.read(7));
  });
  EXPECT_EQ(client.got(), "+PONG\r\n");
  EXPECT_GE(time, 6 * 5ms);
  EXPECT_GE(client.pieces(), 3) << "more than a busy machine joins together";
}

TEST_F(ProxyTest, AKeptRequestArrivesAfterItsClientHasGone) {
  auto old = std::make_unique<RedisTalk>(talk());
  ASSERT_EQ(old->command(increment).integer, 1);
  proxy().hold_requests(true);
  old->send(increment);
  old->send({"SET", "other", "1"});
  EXPECT_TRUE(eventually([&] { return proxy().held() == 2; }));
  old.reset();
  RedisTalk fresh = talk();
  EXPECT_EQ(fresh.command({"INCRBY", "key", "10"}).integer, 11);
  EXPECT_EQ(value(), "11");
  EXPECT_EQ(proxy().release_held(), 2U);
  EXPECT_TRUE(eventually([&] { return value() == "12"; }));
  EXPECT_TRUE(eventually([&] { return proxy().connections() == 1; }));
}

TEST_F(ProxyTest, ManyConnectionsUnderFaultsAllComeBack) {
  proxy().delay(0us, 500us);
  proxy().lose_reply(0.05);
  proxy().lose_request(0.05);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] {
      for (int done = 0; done < 25;) {
        try {
          RedisTalk client = talk();
          while (done < 25) {
            client.command(increment);
            ++done;
          }
        } catch (const RedisTalkError&) {
          ++done;  // lost; the next one
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  proxy().heal();
  const ProxyCounts counts = proxy().counts();
  EXPECT_EQ(std::to_string(counts.commands.at("EVAL") - counts.lost_requests), value());
  EXPECT_EQ(counts.commands.at("EVAL"), 200U);
  EXPECT_EQ(counts.cuts, counts.lost_replies + counts.lost_requests);
  EXPECT_TRUE(eventually([&] { return proxy().connections() == 0; }));
}

}  // namespace
}  // namespace mortise::test
