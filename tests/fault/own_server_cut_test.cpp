// SPDX-License-Identifier: MIT
// Goal: with a store of mortise::remote, a broken connection costs no hold and leaves none, and a
// request that arrives late changes nothing. Method: a proxy in front of the server of
// examples/own_server_store cuts connections, or keeps requests and delivers them later.
#include "fault/own_server_store.hpp"

#include <future>
#include <system_error>

namespace mortise::fault {
namespace {

using Moment = Proxy::Moment;

// Promise: S5
TEST_F(OwnServerStore, ACutConnectionCostsNoHoldAndLeavesNone) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  for (const std::string command : {"TAKE", "RELEASE"}) {
    for (const Moment moment : {Moment::request, Moment::reply}) {
      proxy().cut_at(1, moment, command);
      ASSERT_TRUE(lock.try_lock_for(patience)) << command;
      EXPECT_EQ(lock.release(), Released::released) << command;
      EXPECT_FALSE(proxy().cut_is_ahead()) << command;
      expect_free("a");
    }
  }
}

TEST_F(OwnServerStore, ACutConnectionCostsNoRenewal) {
  Client mine = ready_client();
  for (const Moment moment : {Moment::request, Moment::reply}) {
    Lock lock = mine.make_lock("a", {.lease = 2s});
    ASSERT_TRUE(lock.try_lock_for(patience));
    proxy().cut_at(1, moment, "RENEW");
    ASSERT_TRUE(eventually([&] { return !proxy().cut_is_ahead(); }));
    const std::uint64_t renewals = proxy().commands("RENEW");
    EXPECT_TRUE(eventually([&] { return proxy().commands("RENEW") > renewals; }));
    EXPECT_EQ(lock.release(), Released::released);
  }
}

TEST_F(OwnServerStore, ACancelledWaiterLeavesTheQueueAlthoughTheConnectionIsCut) {
  Client other = ready_client();
  Lock theirs = other.make_lock("a");
  theirs.lock();
  Client mine = ready_client();
  Lock lock = mine.make_lock("a");
  for (const Moment moment : {Moment::request, Moment::reply}) {
    proxy().cut_at(1, moment, "CANCEL");
    EXPECT_FALSE(lock.try_lock_for(100ms));
    EXPECT_TRUE(eventually([&] { return server().waiters() == 0; }));
    EXPECT_TRUE(eventually([&] { return !proxy().cut_is_ahead(); }));
  }
  EXPECT_EQ(theirs.release(), Released::released);
  expect_free("a");
}

// Promise: S5
TEST_F(OwnServerStore, ATakeThatArrivesAfterItsReleaseTakesNothing) {
  Client mine = ready_client();
  proxy().hold_requests(true);
  // The client waits for a sixth of the lease, and then asks on another connection.
  Lock lock = mine.make_lock("a", {.lease = 3s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
  deliver();
  Client other = ready_client();
  Lock theirs = other.make_lock("a");
  EXPECT_TRUE(eventually([&] { return theirs.try_lock(); }, 1s)) << "the copy has taken the lock";
  theirs.unlock();
}

// Promise: S5
TEST_F(OwnServerStore, ATakeInDoubtLeavesNothing) {
  Client mine = ready_client();
  proxy().hold_requests(true);
  // So long that only the client itself can end what a copy took.
  Lock lock = mine.make_lock("a", {.lease = 60s});
  std::error_code error;
  EXPECT_FALSE(lock.try_lock_for(50ms, error));
  EXPECT_EQ(error, Errc::in_doubt) << error.message();
  const std::uint64_t before = server().requests();
  ASSERT_TRUE(eventually([&] { return server().requests() > before; })) << "it is not taken back";
  deliver();
  Client other = ready_client();
  Lock theirs = other.make_lock("a");
  EXPECT_TRUE(eventually([&] { return theirs.try_lock(); }, 5s)) << "the copy has taken the lock";
  theirs.unlock();
}

// The server ignores a take after a moment of its clock. Here a request takes longer than a second
// to arrive, and the connection still counts as good. (Each step of a new one has two seconds.)
// Promise: L7
TEST_F(OwnServerStore, ALockIsTakenByRequestsThatArriveLate) {
  proxy().delay(850ms, 850ms);
  Client mine = ready_client();
  proxy().delay(1'500ms, 1'500ms);
  Lock lock = mine.make_lock("a", {.lease = 30s});
  EXPECT_TRUE(lock.try_lock_for(patience));
  proxy().delay(0ms, 0ms);
}

TEST_F(OwnServerStore, AWaiterWhoseConnectionIsCutWaitsAgain) {
  Client other = ready_client();
  Lock theirs = other.make_lock("a");
  theirs.lock();
  Client mine = ready_client();
  const std::uint64_t before = proxy().commands("TAKE");
  auto served = std::async(std::launch::async, [&] {
    Lock lock = mine.make_lock("a");
    const bool is_held = lock.try_lock_for(patience);
    if (is_held) lock.unlock();
    return is_held;
  });
  ASSERT_TRUE(eventually([&] { return server().waiters() == 1; }));
  proxy().cut_all();
  // Its next take comes on the next connection, and not only with its next question.
  EXPECT_TRUE(
      eventually([&] { return server().waiters() == 1 && proxy().commands("TAKE") > before + 1; }));
  EXPECT_EQ(theirs.release(), Released::released);
  EXPECT_TRUE(served.get());
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
