// SPDX-License-Identifier: MIT
// Goal: the proxy forwards everything, and plays the faults of a whole network as it claims.
// Method: clients and a private Redis server on its two sides, whose views are compared.
#include "integration/support_proxy_fixture.hpp"
#include "model/process.hpp"
#include "support/eventually.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

TEST(ProxyResetTest, IsSeenAtOnceInSpiteOfCopies) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::listen(listener, 1), 0);  // unbound: the kernel chooses a port
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  Plain client(ntohs(address.sin_port));
  const int accepted = ::accept(listener, nullptr, nullptr);
  const int copy = ::dup(accepted);
  reset_connection(accepted);
  EXPECT_TRUE(client.read_to_end());
  EXPECT_EQ(client.error(), ECONNRESET);
  ::close(copy);
  ::close(accepted);
  ::close(listener);
}

TEST_F(ProxyTest, ForwardsCommandsAndMessages) {
  RedisTalk client = talk();
  RedisTalk subscriber = inbox();
  EXPECT_EQ(client.command(increment).integer, 1);
  const std::string large(4'000'000, 'x');
  client.expect_ok({"SET", "large", large});
  EXPECT_EQ(client.command({"GET", "large"}).text, large);
  EXPECT_EQ(publish("hello"), 1);
  const auto push = subscriber.receive(patience);
  ASSERT_TRUE(push);
  EXPECT_EQ(push->words(), R"(["message", "inbox", "hello"])");
  EXPECT_EQ(proxy().pushes(), 1U);
  EXPECT_EQ(proxy().commands(), 1U);
  EXPECT_EQ(proxy().commands("SET"), 1U);
  EXPECT_EQ(proxy().connections(), 2U);
  EXPECT_EQ(proxy().connections(Proxy::Connections::inboxes), 1U);
  EXPECT_EQ(proxy().counts().cuts, 0U);
}

TEST_F(ProxyTest, ForwardsToAUnixSocketAndWhatIsNoResp) {
  Proxy local(server().socket_path());
  EXPECT_EQ(RedisTalk(local.port()).command({"PING"}).text, "PONG");
  Plain client(local.port());
  client.send("PING\r\nQUIT\r\n");
  EXPECT_TRUE(client.read_to_end());
  EXPECT_EQ(client.got(), "+PONG\r\n+OK\r\n");
  EXPECT_EQ(client.error(), 0);
}

TEST_F(ProxyTest, ConnectionsThatEndAreForgotten) {
  for (int i = 0; i < 50; ++i) EXPECT_EQ(talk().command({"PING"}).text, "PONG");
  EXPECT_TRUE(eventually([&] { return proxy().connections() == 0; }));
  EXPECT_TRUE(eventually([&] { return server().talk().clients().size() == 1; }));
  EXPECT_EQ(proxy().counts().accepted, 50U);
}

TEST_F(ProxyTest, CutsAreResets) {
  Plain client(proxy().port());
  client.send("*1\r\n$4\r\nPING\r\n");
  ASSERT_TRUE(client.read(7));
  RedisTalk subscriber = inbox();
  EXPECT_EQ(proxy().cut_all(Proxy::Connections::inboxes), 1U);
  EXPECT_THROW(static_cast<void>(subscriber.receive(patience)), RedisTalkError);
  EXPECT_EQ(proxy().connections(), 1U);
  EXPECT_EQ(proxy().cut_all(), 1U);
  EXPECT_TRUE(client.read_to_end());
  EXPECT_EQ(client.error(), ECONNRESET);
  EXPECT_EQ(talk().command({"PING"}).text, "PONG");
}

TEST_F(ProxyTest, RefusesAndResetsNewConnectionsOnly) {
  RedisTalk old = talk();
  ASSERT_EQ(old.command({"PING"}).text, "PONG");  // it has been accepted
  proxy().refuse(true);
  EXPECT_EQ(Plain(proxy().port()).error(), ECONNREFUSED);
  EXPECT_EQ(old.command({"PING"}).text, "PONG");
  proxy().refuse(false);
  EXPECT_EQ(talk().command({"PING"}).text, "PONG");
  proxy().reset_new(true);
  Plain client(proxy().port());
  EXPECT_TRUE(client.read_to_end());
  EXPECT_EQ(client.error(), ECONNRESET);
  EXPECT_EQ(old.command({"PING"}).text, "PONG");
  proxy().heal();
  EXPECT_EQ(talk().command({"PING"}).text, "PONG");
}

TEST_F(ProxyTest, ABlackholeLosesNothing) {
  RedisTalk old = talk();
  ASSERT_EQ(old.command(increment).integer, 1);
  proxy().blackhole(true);
  old.send(increment);
  RedisTalk fresh = talk();
  fresh.send(increment);
  talk().send(increment);  // and goes
  EXPECT_FALSE(old.receive(30ms));
  EXPECT_EQ(value(), "1");
  proxy().blackhole(false);
  EXPECT_TRUE(old.receive(patience));
  EXPECT_TRUE(fresh.receive(patience));
  EXPECT_TRUE(eventually([&] { return value() == "4"; }));
}

TEST_F(ProxyTest, ABlackholeStopsWhatIsOnItsWay) {
  RedisTalk client = talk();
  ASSERT_EQ(client.command(increment).integer, 1);
  proxy().delay(200ms, 200ms, Proxy::Direction::to_server);
  client.send(increment);
  ASSERT_TRUE(eventually([&] { return proxy().commands() == 2; }));
  proxy().blackhole(true);
  EXPECT_FALSE(client.receive(250ms));
  proxy().delay(0ms, 0ms);  // has the proxy look at all its connections
  EXPECT_FALSE(client.receive(30ms));
  EXPECT_EQ(value(), "1");
  proxy().blackhole(false);
  ASSERT_TRUE(client.receive(patience));
  EXPECT_EQ(value(), "2");
}

TEST_F(ProxyTest, AFrozenConnectionIsHalfOpen) {
  auto old = std::make_unique<RedisTalk>(inbox());
  EXPECT_EQ(proxy().freeze(true), 1U);
  EXPECT_EQ(talk().command({"PING"}).text, "PONG");
  EXPECT_EQ(publish("1"), 1);
  EXPECT_FALSE(old->receive(30ms));
  old.reset();
  EXPECT_EQ(publish("2"), 1) << "the server has learnt that its subscriber is gone";
  proxy().freeze(false);
  EXPECT_TRUE(eventually([&] { return publish("3") == 0; }));
}

TEST_F(ProxyTest, AKilledServerIsSeenAndComesBack) {
  RedisTalk client = talk();
  ASSERT_EQ(client.command({"PING"}).text, "PONG");
  server().kill();
  EXPECT_THROW(static_cast<void>(client.receive(patience)), RedisTalkError);
  EXPECT_THROW(talk().command({"PING"}), RedisTalkError);
  server().start();
  EXPECT_EQ(talk().command({"PING"}).text, "PONG");
}

// Half-open, blackholed and kept connections whose clients have gone are what poll() would report
// without end, and what could keep a destructor.
TEST_F(ProxyTest, IsIdleWithNothingToDoAndEndsAtOnce) {
  RedisTalk alive = talk();
  ASSERT_EQ(alive.command({"PING"}).text, "PONG");
  {
    const Plain gone(proxy().port());
    RedisTalk left = inbox();
    proxy().hold_requests(true);
    proxy().freeze(true, Proxy::Connections::inboxes);
    gone.send("*1\r\n$4\r\nPING\r\n");
    ASSERT_TRUE(eventually([&] { return proxy().held() == 1; }));
    gone.vanish();
  }
  const auto processor_time = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  for (const bool blackhole : {false, true}) {
    proxy().blackhole(blackhole);
    const auto before = processor_time();
    EXPECT_FALSE(alive.receive(200ms));
    EXPECT_LT(processor_time() - before, 50ms);
  }
  Proxy second(server().port());
  auto third = std::make_unique<Proxy>(second.port());
  RedisTalk client(third->port());
  EXPECT_EQ(client.command({"PING"}).text, "PONG");
  third->freeze(true);
  EXPECT_LT(own_duration_of([&] { third.reset(); }), 1s);
  EXPECT_THROW(static_cast<void>(client.receive(patience)), RedisTalkError);
}

// The copies of its descriptors that a child has at the fork must not matter.
TEST(ProxyForkTest, ServesChildrenThatWereForkedBeforeItRan) {
  MORTISE_NEEDS_REDIS_SERVER();
  RedisServer server;
  auto proxy = std::make_unique<Proxy>(server.port(), ProxyOptions{.running = false});
  const std::uint16_t port = proxy->port();
  const auto client = [port] {
    RedisTalk talk(port);
    if (talk.command({"PING"}).text != "PONG") return 1;
    talk.send({"ECHO", "the answer was here"});
    try {
      while (talk.receive(patience)) continue;
    } catch (const RedisTalkError&) {
      return 0;
    }
    return 2;
  };
  model::Process first = model::Process::fork_child(client);
  model::Process second = model::Process::fork_child(client);
  proxy->run();
  EXPECT_TRUE(eventually([&] { return proxy->commands("ECHO") == 2; }));
  proxy.reset();
  EXPECT_EQ(Plain(port).error(), ECONNREFUSED);
  for (model::Process* child : {&first, &second}) {
    const auto exit = child->wait_for(patience);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 0);
  }
}

}  // namespace
}  // namespace mortise::test
