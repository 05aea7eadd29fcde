// SPDX-License-Identifier: MIT
// Goal: over connections that the program makes itself a quorum is what it is over the library's
// own, each server asked for by its own address. Method: a connector in front of real servers.
#include <mortise/redlock.hpp>

#include "fault/redlock_fixture.hpp"
#include "support/carrier.hpp"

namespace mortise::fault {
namespace {

using test::Carrier;
using Mood = Carrier::Mood;

class RedlockConnector : public RedlockTest {
 protected:
  static constexpr const char* url = "redlock://a.invalid:1,b.invalid:2,c.invalid:3";

  /// @return a connector that leads each of these hosts to a server of its own.
  [[nodiscard]] std::shared_ptr<Carrier> carrier(Carrier::Way way = Carrier::Way::socket) {
    const auto made = Carrier::to(servers(3)[0].port(), way);
    made->lead("b.invalid", servers()[1].port());
    made->lead("c.invalid", servers()[2].port());
    return made;
  }
};

TEST_F(RedlockConnector, LocksAreTakenAndHandedOverThroughIt) {
  for (const auto way : {Carrier::Way::socket, Carrier::Way::pair}) {
    const auto mine = carrier(way);
    Client first(redlock::backend(url, mine->connector()));
    Lock lock = first.make_lock("a");
    ASSERT_TRUE(lock.try_lock_for(patience));
    EXPECT_GE(holds("a"), 2U);
    Party second(Client(redlock::backend(url, mine->connector())), "a");
    std::future<Token> waiting = second.start();
    // Who waits listens: three connections of the first, three and three of the second.
    ASSERT_TRUE(eventually([&] { return mine->given() == 9; }));
    EXPECT_EQ(lock.release(), Released::released);
    ASSERT_EQ(waiting.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(second.release(), Released::released);
  }
}

TEST_F(RedlockConnector, HangsForOneServerAndTheMajorityGoesOn) {
  const auto mine = carrier();
  mine->set(Mood::hangs, "b.invalid");
  Client client(redlock::backend(url, mine->connector()));
  Lock lock = client.make_lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(holds("a"), 2U);
  EXPECT_EQ(lock.release(), Released::released);
  mine->set(Mood::throws);
}

TEST_F(RedlockConnector, AllLedToOneServerAreFoundOut) {
  const auto mine = Carrier::to(servers(3)[0].port());
  Client client(redlock::backend(url, mine->connector()));
  Lock lock = client.make_lock("a");
  const Failure failure = failure_of([&] { static_cast<void>(lock.try_lock_for(patience)); });
  EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
}

TEST_F(RedlockConnector, AnEmptyOneIsRefused) {
  EXPECT_EQ(failure_of([&] { static_cast<void>(redlock::backend(url, Connector())); }).code,
            Errc::misconfigured);
}

}  // namespace
}  // namespace mortise::fault
