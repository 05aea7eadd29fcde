// SPDX-License-Identifier: MIT
// Goal: after a standstill, a client reads the answers that have arrived before it gives up the
// server. Method: a session, and a server of the test, which also sets the time of each look.
#include "support/zookeeper_bytes.hpp"
#include "unit/remote_stream_fixture.hpp"
#include "zookeeper/session.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace mortise::zookeeper {
namespace {

using namespace std::chrono_literals;

class Ups final : public Session::Owner {
 public:
  void session_ready(Session& /*session*/, short /*events*/, Instant /*now*/) override {}
  void session_up(Session& /*session*/) override { ++ups; }
  void session_down(Session& /*session*/) override { ++downs; }
  void session_over(Session& /*session*/, const Failure& /*why*/, bool /*at_server*/) override {
    ++downs;
  }
  int ups = 0;
  int downs = 0;
};

class ZooKeeperSession : public ::testing::Test {
 protected:
  /// Looks at the session until the server has something to read.
  void run_until_asked() {
    while (!is_readable(server_.get())) {
      static_cast<void>(session_.publish());
      pollfd polled{.fd = session_.descriptor(), .events = session_.interest(), .revents = 0};
      ::poll(&polled, 1, 1);
      session_.run(polled.revents, BootClock::now());
      ASSERT_EQ(owner_.downs, 0);
    }
  }
  void connect() {
    session_.want(BootClock::now());
    server_ = listener_.accept();
    run_until_asked();
    static_cast<void>(read(read_number()));
  }
  void answer_greeting() {
    constexpr std::int32_t timeout = 10'000;
    answer(test::ZooKeeperWriter()
               .int32(0)
               .int32(timeout)
               .int64(7)
               .text(std::string(16, 'p'))
               .byte(0)
               .bytes());
  }
  void answer(const std::string& body) {
    const std::string framed = test::ZooKeeperWriter().text(body).bytes();
    ASSERT_EQ(::send(server_.get(), framed.data(), framed.size(), 0),
              static_cast<ssize_t>(framed.size()));
    ASSERT_TRUE(remote::wait_for(session_.descriptor(), POLLIN));
  }
  [[nodiscard]] std::string read(std::int32_t size) const {
    std::string bytes(static_cast<std::size_t>(size), '\0');
    EXPECT_EQ(::recv(server_.get(), bytes.data(), bytes.size(), MSG_WAITALL), size);
    return bytes;
  }
  [[nodiscard]] std::int32_t read_number() const { return test::ZooKeeperReader(read(4)).int32(); }

  static bool is_readable(int descriptor) {
    pollfd polled{.fd = descriptor, .events = POLLIN, .revents = 0};
    return ::poll(&polled, 1, 0) == 1;
  }

  remote::Listener listener_;
  const Settings settings_ = Settings::parse("zookeeper://" + listener_.endpoint().text());
  Ups owner_;
  Session session_{settings_, nullptr, Clock::real(), owner_};
  base::UniqueFd server_;
};

TEST_F(ZooKeeperSession, ReadsTheAnswerToAGreetingAfterAStandstill) {
  connect();
  answer_greeting();
  session_.tick(BootClock::now() + 1min);
  EXPECT_EQ(owner_.ups, 1);
  EXPECT_EQ(owner_.downs, 0);
}

TEST_F(ZooKeeperSession, ReadsTheAnswerToARequestAfterAStandstill) {
  connect();
  answer_greeting();
  session_.run(POLLIN, BootClock::now());
  ASSERT_EQ(owner_.ups, 1);
  std::optional<Code> code;
  ASSERT_TRUE(session_.ask({Ask::exists, "/node"}, [&](const Reply& reply) { code = reply.code; }));
  constexpr std::int32_t exists = 3;
  constexpr std::int32_t no_node = -101;
  for (std::optional<std::int32_t> number; !number;) {
    run_until_asked();
    const std::string request = read(read_number());
    test::ZooKeeperReader reader(request);
    const std::int32_t asked = reader.int32();
    if (reader.int32() == exists) number = asked;
    if (number) answer(test::ZooKeeperWriter().int32(*number).int64(1).int32(no_node).bytes());
  }
  session_.tick(BootClock::now() + 1min);
  EXPECT_EQ(code, Code::no_node);
  EXPECT_EQ(owner_.downs, 0);
}

}  // namespace
}  // namespace mortise::zookeeper
