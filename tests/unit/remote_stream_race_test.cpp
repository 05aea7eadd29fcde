// SPDX-License-Identifier: MIT
// Goal: of several addresses the first that answers is taken, a dead one costs a quarter of a
// second, and the last good one costs nothing. Method: sockets on loopback, of which one drops what
// comes: a listener whose queue is full.
#include "remote/stream/stream_race.hpp"
#include "unit/remote_stream_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;
using test::duration_of;

/// Takes no connection and refuses none, as a host that is off.
class DeadAddress {
 public:
  DeadAddress() : listener_(loopback(0), 0) {
    const Endpoint& to = listener_.endpoint();
    for (base::UniqueFd& each : fill_) {
      each = base::UniqueFd::open(
          [] { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
      static_cast<void>(
          ::connect(each.get(), reinterpret_cast<const sockaddr*>(&to.address), to.length));
    }
  }
  [[nodiscard]] const Endpoint& endpoint() const noexcept { return listener_.endpoint(); }

 private:
  Listener listener_;
  std::array<base::UniqueFd, 4> fill_{};
};

/// Polls it to its end.
StreamRace::Status run_race(StreamRace& race) {
  for (;;) {
    const Instant now = BootClock::now();
    const StreamRace::Status status = race.advance(now);
    if (status != StreamRace::Status::again) return status;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(race.due() - now);
    pollfd polled{.fd = race.descriptor(), .events = race.interest(), .revents = 0};
    ::poll(&polled, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  }
}

TEST(StreamRace, ADeadAddressCostsAQuarterOfASecond) {
  const DeadAddress dead;
  const Listener good;
  const auto took = test::best_of(3, 600ms, [&] {
    StreamRace race(nullptr, 5s);
    race.start({dead.endpoint(), good.endpoint()}, "any");
    return duration_of([&] {
      ASSERT_EQ(run_race(race), StreamRace::Status::connected);
      EXPECT_EQ(race.take()->endpoint().text(), good.endpoint().text());
      EXPECT_TRUE(race.has_more()) << "the dead one may be tried again";
    });
  });
  EXPECT_GE(took, AddressRace::head_start);
  EXPECT_LT(took, 600ms);
}

TEST(StreamRace, TheLastGoodAddressIsTriedFirst) {
  const DeadAddress dead;
  const Listener good;
  StreamRace race(nullptr, 5s);
  race.remember(good.endpoint());
  race.start({dead.endpoint(), good.endpoint()}, "any");
  // The time stands still, so the second one never has its turn.
  const Instant now{100s};
  StreamRace::Status status = race.advance(now);
  if (status == StreamRace::Status::again) {
    ASSERT_TRUE(wait_for(race.descriptor(), race.interest()));
    status = race.advance(now);
  }
  ASSERT_EQ(status, StreamRace::Status::connected);
  EXPECT_EQ(race.take()->endpoint().text(), good.endpoint().text());
}

TEST(StreamRace, BehindAWinnerTheOthersHaveTheirTurn) {
  const Listener silent;
  const Listener other;
  StreamRace race(nullptr, 5s);
  race.start({silent.endpoint(), other.endpoint()}, "any");
  ASSERT_EQ(run_race(race), StreamRace::Status::connected);
  EXPECT_EQ(race.take()->endpoint().text(), silent.endpoint().text());
  ASSERT_TRUE(race.has_more());
  ASSERT_EQ(run_race(race), StreamRace::Status::connected);
  EXPECT_EQ(race.take()->endpoint().text(), other.endpoint().text());
  EXPECT_FALSE(race.has_more());
  EXPECT_EQ(run_race(race), StreamRace::Status::failed);
}

TEST(StreamRace, DeadAndRefusingAddressesFailInTheTimeOfOne) {
  const DeadAddress dead;
  const Endpoint refusing = [] { return Listener().endpoint(); }();
  StreamRace race(nullptr, 400ms);
  const auto took = duration_of([&] {
    race.start({dead.endpoint(), refusing, dead.endpoint()}, "any");
    EXPECT_EQ(run_race(race), StreamRace::Status::failed);
  });
  EXPECT_GE(took, 400ms);
  EXPECT_EQ(race.failure().code, Errc::unavailable);
  EXPECT_NE(race.failure().text, "");
  EXPECT_EQ(race.descriptor(), -1);
}

// Each piece of the handshake takes 1.9 s. The test sets the time of the race.
TEST(StreamRace, EachPieceOfATlsHandshakeHasTheWholeTime) {
  const Tls tls({.verify = false}, "test");
  const Listener server;
  StreamRace race(&tls, 2s);
  Instant now{100s};
  race.start({server.endpoint()}, "any");
  ASSERT_EQ(race.advance(now), StreamRace::Status::again);
  const base::UniqueFd peer = server.accept();
  ASSERT_TRUE(wait_for(race.descriptor(), POLLOUT));
  ASSERT_EQ(race.advance(now), StreamRace::Status::again);
  // The header of a record, and the beginning of the record.
  for (const char byte : std::string_view("\x16\x03\x03\x01", 4)) {
    ASSERT_EQ(::send(peer.get(), &byte, 1, MSG_NOSIGNAL), 1);
    ASSERT_TRUE(wait_for(race.descriptor(), POLLIN));
    now += 1900ms;
    ASSERT_EQ(race.advance(now), StreamRace::Status::again);
    EXPECT_EQ(race.due(), now + 2s);
  }
  EXPECT_EQ(race.advance(now + 1999ms), StreamRace::Status::again) << "it is silent";
  EXPECT_EQ(race.due(), now + 2s) << "silence is not an answer";
  EXPECT_EQ(race.advance(now + 2s), StreamRace::Status::failed);
  EXPECT_EQ(race.failure().text, no_handshake);
}

TEST(StreamRace, OneThatIsConnectedAlreadyNeedsNoAddress) {
  const Listener there;
  StreamRace race(nullptr, 5s);
  race.start(open_stream(there.endpoint(), nullptr, "any"));
  ASSERT_EQ(run_race(race), StreamRace::Status::connected);
  EXPECT_EQ(race.take()->endpoint().text(), there.endpoint().text());
  EXPECT_FALSE(race.has_more());
}

}  // namespace
}  // namespace mortise::remote
