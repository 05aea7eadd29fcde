// SPDX-License-Identifier: MIT
// Goal: if a connection of mortise::remote has no memory, the client drops it, connects again, and
// loses no call. Method: a connection to a socket of the test, and a protocol and a user that
// throw.
#include "kit/connection.hpp"
#include "support/hand_host.hpp"
#include "unit/remote_stream_fixture.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::kit {
namespace {

/// Messages of one letter: "g" answers a greeting, "a" any other request.
class Letters final : public remote::Protocol {
 public:
  [[nodiscard]] StoreCapabilities capabilities() const override { return {}; }
  [[nodiscard]] std::string kind() const override { return "letters"; }
  void greet(std::string& bytes) const override {
    ++greetings;
    if (std::exchange(is_short_of_memory, false)) throw std::bad_alloc();
    if (refuses) throw Error({Errc::misconfigured, "no greeting"});
    bytes += "hello";
  }
  void take(std::string& /*bytes*/, const Acquisition::Request& /*request*/,
            remote::ServerTime /*void_after*/) const override {}
  void cancel(std::string& /*bytes*/, const Acquisition::Request& /*request*/) const override {}
  void renew(std::string& /*bytes*/, const std::vector<Renewal::Item>& /*holds*/) const override {}
  void release(std::string& /*bytes*/, const HoldId& /*hold*/) const override {}
  void inspect(std::string& /*bytes*/, const std::string& /*name*/) const override {}
  [[nodiscard]] std::optional<remote::Message> read(std::string_view& bytes) const override {
    if (bytes.empty()) return std::nullopt;
    const char letter = bytes.front();
    bytes.remove_prefix(1);
    if (letter == 'm') throw std::bad_alloc();
    if (letter == 'x') throw std::out_of_range("not a letter");
    remote::Message message;
    message.kind = remote::Message::Kind::busy;
    if (letter == 'g') {
      message.kind = remote::Message::Kind::greeting;
      message.server = "server";
    }
    return message;
  }

  mutable int greetings = 0;
  mutable bool is_short_of_memory = false;  // during the next greeting
  bool refuses = false;
};

class ThrowingUser final : public ConnectionUser {
 public:
  [[nodiscard]] bool admits(const Call& /*call*/) override { return true; }
  void greeted(const remote::Message& /*greeting*/, Instant /*asked*/) override {}
  void connected(const base::Endpoint& /*endpoint*/) override { is_connected = true; }
  void answered(const Call& /*call*/, const remote::Message& /*message*/) override {
    ++answers;
    throw std::bad_alloc();
  }
  void pushed(const remote::Message& /*message*/) override {}
  void dropped(const Failure& why, bool /*was_up*/, std::list<Call> calls) override {
    drops.push_back(why);
    unanswered += calls.size();
  }

  bool is_connected = false;
  int answers = 0;
  std::vector<Failure> drops;
  std::size_t unanswered = 0;
};

class RemoteKitConnection : public ::testing::Test {
 protected:
  ~RemoteKitConnection() override {
    if (!connection_) return;
    host_.detach(*connection_);
    static_cast<void>(connection_->close());
  }

  /// @param dials true: a connector connects after the look that wants it, as on most networks
  void open(bool dials) {
    Destination destination{.address = {.host = "127.0.0.1", .port = listener_.endpoint().port()},
                            .where = "letters"};
    if (dials) {
      destination.connector = std::make_shared<const Connector>(
          [endpoint = listener_.endpoint()](const std::string& /*host*/, std::uint16_t /*port*/) {
            const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            const auto* address = reinterpret_cast<const sockaddr*>(&endpoint.address);
            return ::connect(made, address, endpoint.length) == 0 ? made : -1;
          });
    }
    destination_.emplace(std::move(destination));
    connection_.emplace(host_, *destination_, letters_, user_, mutex_);
    host_.attach(*connection_);
    connection_->want(true);
  }
  void come_up() {
    open(false);
    ASSERT_TRUE(host_.run_until([&] { return letters_.greetings == 1; }));
    server_ = listener_.accept();
    says("g");
    ASSERT_TRUE(host_.run_until([&] { return user_.is_connected; }));
  }
  void says(std::string_view letters) const {
    ASSERT_EQ(::send(server_.get(), letters.data(), letters.size(), 0),
              static_cast<ssize_t>(letters.size()));
  }
  [[nodiscard]] bool is_dropped() {
    return host_.run_until([&] { return !user_.drops.empty(); });
  }

  test::HandHost host_;
  remote::Listener listener_;
  base::UniqueFd server_;
  Letters letters_;
  ThrowingUser user_;
  std::mutex mutex_;
  std::optional<Destination> destination_;
  std::optional<Connection> connection_;
};

TEST_F(RemoteKitConnection, AGreetingWithoutMemoryIsMadeAgain) {
  for (const bool dials : {false, true}) {
    SCOPED_TRACE(dials);
    letters_.greetings = 0;
    letters_.is_short_of_memory = true;
    user_.drops.clear();
    open(dials);
    ASSERT_TRUE(host_.run_until([&] { return letters_.greetings == 1; }));
    EXPECT_TRUE(user_.drops.empty()) << "it was dropped by the look that had no memory";
    EXPECT_EQ(connection_->due(), Instant{}) << "no look follows";
    connection_->ready(0, host_.clock()->now());
    ASSERT_EQ(user_.drops.size(), 1U);
    EXPECT_EQ(user_.drops[0].code, Errc::exhausted);
    EXPECT_EQ(user_.drops[0].text, "no memory");
    connection_->want(true);
    EXPECT_TRUE(host_.run_until([&] { return letters_.greetings == 2; }));
    host_.detach(*connection_);
    static_cast<void>(connection_->close());
    connection_.reset();
  }
}

TEST_F(RemoteKitConnection, AGreetingThatFailsIsReportedWithItsPlace) {
  letters_.refuses = true;
  open(false);
  ASSERT_TRUE(is_dropped());
  EXPECT_EQ(user_.drops[0].code, Errc::misconfigured);
  EXPECT_EQ(user_.drops[0].text, "letters: no greeting");
}

// Otherwise the client never repeats the call, or takes the next answer for its answer (S1).
// Promise: L4
TEST_F(RemoteKitConnection, ACallStaysUnansweredIfItsAnswerFindsNoMemory) {
  come_up();
  for (int i = 0; i < 2; ++i) {
    Call call = Call::of(remote::Purpose::question, std::make_shared<Inspection>("name"));
    call.written.generation = connection_->pipeline().calls().generation();
    ASSERT_EQ(connection_->send(call, "?"), Pipeline::Sent::sent);
  }
  says("aa");
  ASSERT_TRUE(is_dropped());
  EXPECT_EQ(user_.drops[0].code, Errc::exhausted);
  EXPECT_EQ(user_.unanswered, 2U);
  EXPECT_EQ(user_.answers, 1) << "an answer behind the lost one was read";
}

TEST_F(RemoteKitConnection, AMessageWithoutMemoryIsNotReportedAsInvalid) {
  come_up();
  says("m");
  ASSERT_TRUE(is_dropped());
  EXPECT_EQ(user_.drops[0].code, Errc::exhausted);
  EXPECT_EQ(user_.drops[0].text, "no memory");
}

TEST_F(RemoteKitConnection, AMessageThatTheProtocolCannotReadIsReportedAsInvalid) {
  come_up();
  says("x");
  ASSERT_TRUE(is_dropped());
  EXPECT_EQ(user_.drops[0].code, Errc::protocol);
  EXPECT_EQ(user_.drops[0].text, "letters: the protocol cannot read a message of the server");
}

}  // namespace
}  // namespace mortise::kit
