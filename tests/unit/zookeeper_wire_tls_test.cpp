// SPDX-License-Identifier: MIT
// Goal: by TLS the wire gives the C client the same bytes as without, none before hands are shaken,
// and says in words why not. Method: a wire at `openssl s_server`, at listeners that answer
// otherwise, and the C client's part played by the test.
#include "unit/remote_tls_fixture.hpp"
#include "zookeeper/wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace mortise::zookeeper {
namespace {

using namespace std::chrono_literals;
using remote::certificates;
using remote::Listener;
using remote::TlsServer;
using test::eventually;
using ::testing::HasSubstr;

// The server sends back each line reversed, so that a greeting ends in its own length reversed.
const std::string tls_welcome = std::string("\0\0\0\x25", 4) + std::string(37, 'w');
std::string asked_for(const std::string& answer) { return {answer.rbegin(), answer.rend()}; }

class ZooKeeperWireTlsTest : public ::testing::Test {
 protected:
  void connect(Wire& wire, const base::Endpoint& endpoint, const std::string& host = "localhost") {
    wire.set_hosts({{endpoint.text(), {host}}});
    EXPECT_GE(wire.open_socket(endpoint.address.ss_family, SOCK_STREAM, 0), 0);
    EXPECT_EQ(wire.connect_socket(&endpoint.address, endpoint.length), -1);
    EXPECT_EQ(errno, EINPROGRESS);
  }
  static bool settles(Wire& wire) {
    return eventually([&] { return wire.advance(); });
  }
  static int error_of(Wire& wire) {
    int error = -1;
    unsigned size = sizeof error;
    EXPECT_EQ(wire.get_option(SOL_SOCKET, SO_ERROR, &error, &size), 0);
    return error;
  }
  static std::string taken(Wire& wire) {
    std::array<char, 1024> bytes{};
    const ssize_t got = wire.receive_bytes(bytes.data(), bytes.size());
    return got < 0 ? "" : std::string(bytes.data(), static_cast<std::size_t>(got));
  }
};

TEST_F(ZooKeeperWireTlsTest, TheSameBytesGoBothWays) {
  const TlsServer server;
  const remote::Tls tls(TlsServer::trusting(), "zookeeper");
  Wire wire(&tls);
  connect(wire, server.endpoint());
  const std::string line = asked_for(tls_welcome) + "\n";
  wire.send_bytes(line.data(), line.size());
  EXPECT_FALSE(wire.settled());
  wire.flush();
  ASSERT_TRUE(settles(wire));
  EXPECT_EQ(error_of(wire), 0) << wire.why().text;
  wire.flush();
  ASSERT_TRUE(eventually([&] {
    wire.fill();
    return wire.readable();
  }));
  EXPECT_EQ(taken(wire), tls_welcome);
  EXPECT_EQ(wire.error(), 0);
}

TEST_F(ZooKeeperWireTlsTest, NothingLeavesBeforeHandsAreShaken) {
  const Listener listener;
  const remote::Tls tls(TlsServer::trusting(), "zookeeper");
  Wire wire(&tls);
  connect(wire, listener.endpoint());
  const base::UniqueFd peer = listener.accept();
  wire.send_bytes("a secret", 8);
  for (int i = 0; i < 3; ++i) {
    wire.flush();
    wire.fill();
    EXPECT_FALSE(wire.advance());
    EXPECT_FALSE(wire.readable());
  }
  EXPECT_EQ(wire.interest(), POLLIN);
  std::array<char, 4096> bytes{};
  const ssize_t got = ::recv(peer.get(), bytes.data(), bytes.size(), 0);
  ASSERT_GT(got, 0);
  EXPECT_EQ(std::string(bytes.data(), static_cast<std::size_t>(got)).find("secret"),
            std::string::npos);
  // The words for a hello that is not answered.
  wire.mark_broken(ETIMEDOUT);
  EXPECT_EQ(wire.error(), ETIMEDOUT);
  EXPECT_THAT(wire.why().text, HasSubstr("did not answer the TLS handshake in time"));
}

TEST_F(ZooKeeperWireTlsTest, WhoHangsUpBeforeAWordIsPerhapsNoPortForTls) {
  const Listener listener;
  const remote::Tls tls(TlsServer::trusting(), "zookeeper");
  Wire wire(&tls);
  connect(wire, listener.endpoint());
  listener.accept().reset();
  ASSERT_TRUE(settles(wire));
  EXPECT_NE(error_of(wire), 0);
  EXPECT_THAT(wire.why().text, HasSubstr("is this a TLS port?"));
  EXPECT_EQ(wire.why().code, Errc::unavailable);
}

TEST_F(ZooKeeperWireTlsTest, ACertificateIsForTheHost) {
  const TlsServer server;
  const remote::Tls tls(TlsServer::trusting(), "zookeeper");
  for (const auto& [host, good] :
       {std::pair{"localhost", true}, {"127.0.0.1", true}, {"zk", false}}) {
    Wire wire(&tls);
    connect(wire, server.endpoint(), host);
    ASSERT_TRUE(settles(wire));
    EXPECT_EQ(error_of(wire) == 0, good) << host;
    EXPECT_EQ(wire.why().code == Errc::denied, !good) << wire.why().text;
  }
  // An address that the URL does not lead to is nobody's.
  Wire wire(&tls);
  const base::Endpoint endpoint = server.endpoint();
  EXPECT_GE(wire.open_socket(AF_INET, SOCK_STREAM, 0), 0);
  wire.connect_socket(&endpoint.address, endpoint.length);
  ASSERT_TRUE(settles(wire));
  EXPECT_EQ(wire.why().code, Errc::denied);
}

// A server for TLS has no answer to a greeting in the clear.
TEST_F(ZooKeeperWireTlsTest, WithoutItAPortForItIsKnownByItsSilence) {
  const Listener listener;
  Wire wire;
  connect(wire, listener.endpoint());
  ASSERT_TRUE(settles(wire));
  listener.accept().reset();
  ASSERT_TRUE(eventually([&] {
    wire.fill();
    return wire.error() != 0;
  }));
  EXPECT_THAT(wire.why().text, HasSubstr("zookeeper+tls"));
}

// The goodbye of TLS is an end, although the socket may live on.
TEST_F(ZooKeeperWireTlsTest, AGoodbyeIsTheEnd) {
  const TlsServer server;
  const remote::Tls tls(TlsServer::trusting(), "zookeeper");
  Wire wire(&tls);
  connect(wire, server.endpoint());
  ASSERT_TRUE(settles(wire));
  wire.send_bytes("CLOSE\n", 6);
  wire.flush();
  ASSERT_TRUE(eventually([&] {
    wire.fill();
    return wire.readable();
  }));
  EXPECT_EQ(taken(wire), "");
  EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(ZooKeeperWireTlsTest, TheFarewellIsBounded) {
  const Listener listener;
  const remote::Tls tls(TlsServer::trusting(), "zookeeper");
  Wire wire(&tls);
  connect(wire, listener.endpoint());
  wire.keep_open();
  wire.close_socket();
  const Instant before = BootClock::now();
  wire.farewell(before + 10s);
  EXPECT_LT(BootClock::now() - before, 5s) << "nobody there to hang up";
  EXPECT_FALSE(wire.is_open());
}

}  // namespace
}  // namespace mortise::zookeeper
