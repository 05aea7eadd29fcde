// SPDX-License-Identifier: MIT
// Goal: what lies under the C client gives it whole and numbered replies only, sends a flight of
// requests in one piece, and never blocks. Method: a wire on one end of a pair of sockets, whose
// other end plays the server; the C client's part is played by the test.
#include "zookeeper/wire.hpp"

#include <gtest/gtest.h>

#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

// What the C client calls instead of the system's: see wire_calls.cpp.
extern "C" int mortise_zk_getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                                      addrinfo** list);

namespace mortise::zookeeper {
namespace {

using namespace std::chrono_literals;

std::string number(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xffU);
  return bytes;
}

std::string frame(const std::string& body) {
  return number(static_cast<std::uint32_t>(body.size())) + body;
}

/// Of one that is answered by a header alone, unless another type is given.
std::string request(std::int32_t xid, std::uint32_t type = 2) {
  return frame(number(static_cast<std::uint32_t>(xid)) + number(type) + "body");
}

std::string reply(std::int32_t xid, const std::string& body = "more") {
  return frame(number(static_cast<std::uint32_t>(xid)) + std::string(12, '\0') + body);
}

std::string event(const std::string& path) {
  return reply(-1, number(2) + number(3) + number(static_cast<std::uint32_t>(path.size())) + path);
}

const std::string greeting = frame(std::string(44, 'g'));
const std::string welcome = frame(std::string(37, 'w'));

/// A connected wire, and the server's end of it.
class ZooKeeperWireTest : public ::testing::Test {
 protected:
  ZooKeeperWireTest() {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    connect();
  }
  ~ZooKeeperWireTest() override {
    ::close(server_);
    ::close(listener_);
  }

  /// Anew, where it was connected.
  void connect() {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    EXPECT_GE(wire_.open_socket(AF_INET, SOCK_STREAM, 0), 0);
    wire_.connect_socket(&address, size);
    if (server_ >= 0) ::close(server_);
    server_ = ::accept(listener_, nullptr, nullptr);
    EXPECT_TRUE(wire_.advance());
  }
  void ask(const std::string& bytes) {
    ASSERT_EQ(wire_.send_bytes(bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void answer(const std::string& bytes) {
    ASSERT_EQ(::send(server_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    wire_.fill();
  }
  void greet() {
    ask(greeting);
    answer(welcome);
    EXPECT_EQ(taken(), welcome);
  }
  /// The bytes that the C client gets.
  std::string taken() {
    std::array<char, 1024> bytes{};
    const ssize_t got = wire_.receive_bytes(bytes.data(), bytes.size());
    return got < 0 ? "" : std::string(bytes.data(), static_cast<std::size_t>(got));
  }
  std::string at_server() const {
    std::array<char, 4096> bytes{};
    const ssize_t got = ::recv(server_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return got < 0 ? "" : std::string(bytes.data(), static_cast<std::size_t>(got));
  }

  Wire wire_;
  int listener_ = -1;
  int server_ = -1;
};

TEST_F(ZooKeeperWireTest, AFlightLeavesInOnePiece) {
  greet();
  ask(request(1));
  ask(request(2));
  EXPECT_EQ(at_server(), "") << "nothing leaves before the flush";
  wire_.flush();
  EXPECT_EQ(at_server(), greeting + request(1) + request(2));
  EXPECT_FALSE(wire_.blocked());
}

TEST_F(ZooKeeperWireTest, GivesWholeRepliesOnly) {
  greet();
  ask(request(7));
  const std::string whole = reply(7);
  for (const char byte : whole.substr(0, whole.size() - 1)) {
    answer(std::string(1, byte));
    ASSERT_FALSE(wire_.readable());
    ASSERT_EQ(taken(), "");
    ASSERT_EQ(errno, EAGAIN);
  }
  answer(whole.substr(whole.size() - 1));
  EXPECT_TRUE(wire_.readable());
  EXPECT_EQ(taken(), whole);
  EXPECT_FALSE(wire_.readable());
}

TEST_F(ZooKeeperWireTest, AReplyToNothingEndsTheConnection) {
  greet();
  answer(reply(1));
  EXPECT_TRUE(wire_.readable()) << "for the end to be read";
  EXPECT_EQ(taken(), "");
  EXPECT_EQ(wire_.error(), EPROTO);
}

TEST_F(ZooKeeperWireTest, AReplyOutOfOrderEndsTheConnection) {
  greet();
  ask(request(1));
  ask(request(2));
  answer(reply(1) + reply(3));
  EXPECT_EQ(taken(), reply(1));
  EXPECT_EQ(taken(), "");
  EXPECT_EQ(wire_.error(), EPROTO);
}

TEST_F(ZooKeeperWireTest, WatchesPingsAndCredentialsAreNobodysReplies) {
  greet();
  ask(request(-2));
  EXPECT_TRUE(wire_.awaits_pong());
  ask(request(-4));
  ask(request(-8));
  ask(request(5));
  const std::string all = event("/a") + reply(-4) + reply(-8) + reply(-2) + reply(5);
  answer(all);
  EXPECT_EQ(taken(), all);
  EXPECT_FALSE(wire_.awaits_pong());
  EXPECT_EQ(wire_.error(), 0);
}

TEST_F(ZooKeeperWireTest, ASizeAboveTheLimitEndsTheConnection) {
  greet();
  answer(number((std::uint32_t{64} << 20U) + 1));
  EXPECT_EQ(wire_.error(), EPROTO);
}

TEST_F(ZooKeeperWireTest, ANegativeSizeEndsTheConnection) {
  greet();
  answer(number(0xffffffffU));
  EXPECT_EQ(wire_.error(), EPROTO);
}

TEST_F(ZooKeeperWireTest, AReplyShorterThanItsHeaderEndsTheConnection) {
  greet();
  ask(request(1));
  answer(frame(number(1) + "short"));
  EXPECT_EQ(wire_.error(), EPROTO);
}

// The C client would hand out what nobody has written, or take memory for 2^31 names.
TEST_F(ZooKeeperWireTest, AReplyThatLacksWhatTheClientReadsEndsTheConnection) {
  const std::string stat(68, 's');
  const std::string child = number(1) + "c";
  const struct {
    std::uint32_t type;
    std::string body;
  } wholes[] = {{1, child},
                {3, stat},
                {4, child + stat},
                {8, number(2) + child + child},
                {9, number(0)},
                {19, child},
                {15, child + stat},
                {8, number(0)},
                {4, number(0xffffffffU) + stat}};
  for (const auto& whole : wholes) {
    connect();
    greet();
    ask(request(1, whole.type) + request(2, whole.type));
    answer(reply(1, whole.body));
    EXPECT_EQ(wire_.error(), 0) << whole.type;
    answer(reply(2, whole.body.substr(0, whole.body.size() - 1)));
    EXPECT_EQ(wire_.error(), EPROTO) << whole.type;
  }
}

// The C client reads an answer to each write of one that is several, by the type that it asked for.
TEST_F(ZooKeeperWireTest, AnAnswerToSeveralWritesIsOneToEach) {
  const auto heading = [](std::uint32_t type, bool last) {
    return number(type) + std::string(1, last ? '\1' : '\0') + number(0xffffffffU);
  };
  const std::string text = number(2) + "/a";
  const std::string end = heading(0xffffffffU, true);
  const std::string asked = heading(1, false) + text + text + number(1) + number(31) + text + text +
                            number(3) + heading(5, false) + text + text + number(7) +
                            heading(13, false) + text + number(7) + heading(2, false) + text +
                            number(7) + end;
  const std::string done = heading(1, false) + text + heading(5, false) + std::string(68, 's') +
                           heading(13, false) + heading(2, false);
  std::string refused;
  for (int i = 0; i < 4; ++i) refused += heading(0xffffffffU, false) + number(0xffffff9bU);
  const struct {
    std::string body;
    bool sound;
  } answers[] = {{done + end, true},
                 {refused + end, true},
                 {done, false},
                 {refused, false},
                 {done + end.substr(1), false},
                 {end, false},
                 {heading(1, false) + text + end, false},
                 {done + heading(2, false) + end, false},
                 {heading(5, false) + std::string(68, 's') + done + end, false}};
  for (const auto& each : answers) {
    connect();
    greet();
    ask(frame(number(1) + number(14) + asked));
    answer(reply(1, each.body));
    EXPECT_EQ(wire_.error(), each.sound ? 0 : EPROTO) << &each - answers;
  }
}

TEST_F(ZooKeeperWireTest, ANegativeCountOrLengthEndsTheConnection) {
  greet();
  ask(request(1, 8));
  answer(reply(1, number(0xffffffffU)));
  EXPECT_EQ(wire_.error(), EPROTO);
}

TEST_F(ZooKeeperWireTest, AnErrorNeedsNoBody) {
  greet();
  ask(request(1, 8));
  answer(frame(number(1) + std::string(8, '\0') + number(0xffffff9bU)));
  EXPECT_EQ(wire_.error(), 0);
}

TEST_F(ZooKeeperWireTest, AWatchWithoutAPathEndsTheConnection) {
  greet();
  answer(reply(-1, number(2) + number(3)));
  EXPECT_EQ(wire_.error(), EPROTO);
}

TEST_F(ZooKeeperWireTest, AGreetingOfAnotherSizeEndsTheConnection) {
  ask(greeting);
  answer(frame(std::string(38, 'w')));
  EXPECT_EQ(wire_.error(), EPROTO);
}

TEST_F(ZooKeeperWireTest, WhatCameBeforeTheEndIsReadFirst) {
  greet();
  ask(request(1));
  ASSERT_EQ(::send(server_, reply(1).data(), reply(1).size(), 0),
            static_cast<ssize_t>(reply(1).size()));
  ::shutdown(server_, SHUT_RDWR);
  wire_.fill();
  wire_.fill();
  EXPECT_EQ(taken(), reply(1));
  EXPECT_TRUE(wire_.readable());
  EXPECT_EQ(taken(), "");
  EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(ZooKeeperWireTest, AServerThatReadsNothingBlocksNobody) {
  greet();
  const std::string large = frame(number(1) + std::string(1U << 20U, 'x'));
  std::size_t sent = 0;
  for (int i = 0; i < 64 && !wire_.blocked(); ++i, sent += large.size()) {
    ask(large);
    wire_.flush();
  }
  ASSERT_TRUE(wire_.blocked());
  std::size_t read = 0;
  std::string bytes(1U << 20U, '\0');
  while (read < greeting.size() + sent) {
    const ssize_t got = ::recv(server_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) read += static_cast<std::size_t>(got);
    wire_.flush();
  }
  EXPECT_FALSE(wire_.blocked());
}

// So does a session that expires, with requests in the buffer. (Seed 13337 of the simulation.)
TEST_F(ZooKeeperWireTest, OnceTheClientHasClosedItNothingIsSentOrRead) {
  greet();
  ask(request(1));
  wire_.close_socket();
  wire_.flush();
  wire_.fill();
  EXPECT_EQ(at_server(), "");
  EXPECT_EQ(wire_.send_bytes("late", 4), -1);
  connect();
  greet();
  ask(request(1));
  wire_.flush();
  EXPECT_EQ(at_server(), greeting + request(1)) << "nothing of the connection before it";
}

// It would close its socket in the middle of a request, and report no loss.
TEST_F(ZooKeeperWireTest, TheClientLearnsOfAnEndWhenItReads) {
  greet();
  wire_.mark_broken(EPIPE);
  EXPECT_EQ(wire_.send_bytes("late", 4), 4);
  wire_.flush();
  EXPECT_EQ(at_server(), "");
  EXPECT_TRUE(wire_.readable());
  EXPECT_EQ(taken(), "");
  EXPECT_EQ(errno, EPIPE);
}

TEST_F(ZooKeeperWireTest, TheFarewellSendsTheRestAndIsBounded) {
  greet();
  ask(request(1));
  wire_.keep_open();
  wire_.close_socket();
  EXPECT_TRUE(wire_.is_open());
  const Instant before = BootClock::now();
  wire_.farewell(before + 50ms);
  EXPECT_LT(BootClock::now() - before, 5s);
  EXPECT_EQ(at_server(), greeting + request(1));
  EXPECT_FALSE(wire_.is_open());
}

// The greeting is the protocol's version, what was seen, and the rest.
TEST_F(ZooKeeperWireTest, WhatWasSeenIsHiddenInTheGreetingAlone) {
  const std::string seen(8, 's');
  const std::string asks = frame(number(0) + seen + std::string(32, 'g'));
  ask(asks);
  wire_.flush();
  EXPECT_EQ(at_server(), asks);
  wire_.hide_seen(true);
  connect();
  ask(asks);
  ask(request(1));
  wire_.flush();
  std::string hidden = asks;
  hidden.replace(8, seen.size(), seen.size(), '\0');
  EXPECT_EQ(at_server(), hidden + request(1));
  EXPECT_FALSE(wire_.turned_away());
  ::shutdown(server_, SHUT_RDWR);
  wire_.fill();
  EXPECT_TRUE(wire_.turned_away()) << "the server has hung up on the greeting";
}

TEST(ZooKeeperWireCalls, ReadTheNumbersThatWereResolved) {
  const auto read = [](const char* host) {
    addrinfo* list = nullptr;
    const int code = mortise_zk_getaddrinfo(host, "2181", nullptr, &list);
    sockaddr_in6 found{};
    if (code != 0) return found;
    EXPECT_LE(list->ai_addrlen, sizeof found);
    std::memcpy(&found, list->ai_addr, std::min<std::size_t>(list->ai_addrlen, sizeof found));
    ::freeaddrinfo(list);
    return found;
  };
  EXPECT_EQ(read("127.0.0.1").sin6_family, AF_INET);
  for (const char* const host : {"[::1]", "::1", "[fe80::1%lo]"}) {
    const sockaddr_in6 found = read(host);
    EXPECT_EQ(found.sin6_family, AF_INET6) << host;
    EXPECT_EQ(found.sin6_port, htons(2181)) << host;
  }
  EXPECT_EQ(read("[fe80::1%lo]").sin6_scope_id, ::if_nametoindex("lo"));
  for (const char* const none : {"localhost", "[127.0.0.1", "[]", ""}) {
    EXPECT_EQ(read(none).sin6_family, AF_UNSPEC) << none;
  }
  const std::string endless(5'000, '1');
  EXPECT_EQ(read(endless.c_str()).sin6_family, AF_UNSPEC);
}

}  // namespace
}  // namespace mortise::zookeeper
