// SPDX-License-Identifier: MIT
// Goal: libpq speaks through the socket that it was given, and nobody at the place where it
// believes to be hears a word, or can take it. Method: a server of a few lines at the other end of
// a pair.
#include "postgres/pq.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::postgres {
namespace {

using test::eventually;
using ::testing::HasSubstr;
using ::testing::Not;

/// @return the ports of the loopback that this process listens on.
std::vector<std::uint16_t> ports_listened_on() {
  std::vector<std::uint16_t> ports;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(each.path().filename());
    int listens = 0;
    socklen_t size = sizeof listens;
    sockaddr_in address{};
    socklen_t length = sizeof address;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) continue;
    if (address.sin_family != AF_INET) continue;
    EXPECT_EQ(address.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    ports.push_back(ntohs(address.sin_port));
  }
  return ports;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

class PostgresLureTest : public ::testing::Test {
 protected:
  PostgresLureTest() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends_), 0);
  }
  ~PostgresLureTest() override { ::close(ends_[1]); }

  void begin(const char* sslmode) {
    const Keywords keywords = {{"host", "db.invalid"},
                               {"user", "shop"},
                               {"password", "secret"},
                               {"gssencmode", "disable"},
                               {"sslmode", sslmode}};
    pq_.emplace(keywords, base::UniqueFd::open([this] { return ends_[0]; }));
    ASSERT_GE(pq_->descriptor(), 0) << pq_->error().words;
  }
  /// @return what libpq sends to its server.
  std::string first_words() {
    char bytes[1024];
    ssize_t got = -1;
    EXPECT_TRUE(eventually([&] {
      EXPECT_NE(pq_->advance(), Pq::Progress::failed);
      got = ::recv(ends_[1], bytes, sizeof bytes, 0);
      return got > 0;
    }));
    return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : std::string();
  }
  void say(std::string_view words) {
    EXPECT_EQ(::send(ends_[1], words.data(), words.size(), 0), std::ssize(words));
  }

  std::optional<Pq> pq_;
  int ends_[2] = {-1, -1};
};

TEST_F(PostgresLureTest, WhatItSaysGoesToTheServerAndNotToTheLure) {
  begin("disable");
  const std::vector<std::uint16_t> ports = ports_listened_on();
  ASSERT_EQ(ports.size(), 1U);
  const int stranger = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in there = loopback(ports.front());
  ASSERT_EQ(::connect(stranger, reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);
  EXPECT_THAT(first_words(), HasSubstr("shop"));
  char byte = 0;
  EXPECT_EQ(::recv(stranger, &byte, 1, MSG_DONTWAIT), -1) << "it hears nothing";
  EXPECT_EQ(errno, EAGAIN);
  ::close(stranger);
}

// Somebody else's program would get the second try, otherwise.
TEST_F(PostgresLureTest, ItsPortIsNobodysUntilLibpqHasComeThrough) {
  begin("allow");
  ASSERT_EQ(ports_listened_on().size(), 1U);
  const sockaddr_in there = loopback(ports_listened_on().front());
  EXPECT_THAT(first_words(), HasSubstr("shop"));
  constexpr std::string_view refusal("E\0\0\0\x1bSFATAL\0C28000\0Mno TLS\0\0", 28);
  say(refusal);
  EXPECT_TRUE(eventually([&] { return pq_->advance() == Pq::Progress::failed; }));
  EXPECT_EQ(pq_->error().state, "28000") << pq_->error().words;
  const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_NE(::bind(other, reinterpret_cast<const sockaddr*>(&there), sizeof there), 0);
  EXPECT_EQ(errno, EADDRINUSE);
  ::close(other);
  pq_.reset();
  EXPECT_TRUE(ports_listened_on().empty());
}

TEST_F(PostgresLureTest, ItIsNotNamedWhereTheConnectionFails) {
  begin("disable");
  EXPECT_THAT(first_words(), HasSubstr("shop"));
  ::shutdown(ends_[1], SHUT_RDWR);
  EXPECT_TRUE(eventually([&] { return pq_->advance() == Pq::Progress::failed; }));
  EXPECT_THAT(pq_->error().words, Not(HasSubstr("127.0.0.1")));
  EXPECT_THAT(pq_->error().words, HasSubstr("closed the connection"));
}

TEST_F(PostgresLureTest, TheSocketIsClosedWithIt) {
  begin("disable");
  pq_.reset();
  char byte = 0;
  EXPECT_EQ(::recv(ends_[1], &byte, 1, 0), 0);
  EXPECT_TRUE(ports_listened_on().empty());
}

// Where the program's language is another one libpq speaks that.
TEST(PostgresLureWordsTest, ItIsNotNamedInAnyLanguage) {
  const Lure lure;
  ASSERT_EQ(lure.trouble(), "");
  const auto hidden = [&](const std::string& before, const std::string& between,
                          const std::string& behind) {
    std::string words = before + lure.number() + between + lure.port() + behind;
    lure.hide_in(words);
    return words;
  };
  EXPECT_EQ(hidden("connection to server at \"", "\", port ", " failed: SSL error: bad"),
            "SSL error: bad");
  EXPECT_EQ(hidden("Verbindung zum Server auf \u00bb", "\u00ab, Port ", " fehlgeschlagen: SSL"),
            "SSL");
  EXPECT_EQ(hidden("cannot reach ", ":", ""), "");
  std::string others = "connection to server at \"10.0.0.1\", port 5432 failed: no";
  lure.hide_in(others);
  EXPECT_EQ(others, "connection to server at \"10.0.0.1\", port 5432 failed: no");
}

}  // namespace
}  // namespace mortise::postgres
