// SPDX-License-Identifier: MIT
// Goal: a lost hold leaves its name at once, and is remembered for its owner until it has unlocked
// it as often as it locked it (S7). Method: lose holds of several depths, and look at both sides.
#include "support/contract_suites.hpp"

namespace mortise::contract {
namespace {

// Promise: S7
MORTISE_TEST(LostHold, IsRememberedUntilItsLastUnlock, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  lock.lock();
  lock.lock();
  lock.lock();
  const Token token = lock.token();
  lose(lock);
  for (std::size_t owed = 3; owed > 0; --owed) {
    EXPECT_EQ(lock.hold_count(), owed);
    EXPECT_EQ(lock.token(), token);
    std::error_code ec;
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, Errc::lost);
    lock.lock(ec);
    EXPECT_EQ(ec, Errc::lost);
    EXPECT_FALSE(lock.acquire({.wait = 10s}, ec));
    EXPECT_EQ(ec, Errc::lost) << "re-entry fails at once, it does not wait";
    EXPECT_THROW(lock.lock(), Error);
    EXPECT_THROW(const Guard held(lock), Error);
    EXPECT_EQ(lock.hold_count(), owed) << "a refused re-entry counts for nothing";
    EXPECT_EQ(lock.release(), Released::was_lost);
  }
  EXPECT_EQ(lock.hold_count(), 0U);
  EXPECT_EQ(lock.token(), Token());
  std::error_code ec;
  lock.unlock(ec);
  EXPECT_EQ(ec, Errc::not_owner);
  lock.lock();
  EXPECT_GT(lock.token(), token);
  lock.unlock();
}

// Promise: S7
MORTISE_TEST(LostHold, IsUnlockedSilently, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  {
    const std::lock_guard hold(lock);
    const std::lock_guard again(lock);
    lose(lock);
  }
  EXPECT_EQ(lock.hold_count(), 0U);
  lock.lock();
  lose(lock);
  std::error_code ec = Errc::protocol;
  lock.unlock(ec);
  EXPECT_FALSE(ec);
}

MORTISE_TEST(LostHold, IsNotReleasedAtTheServer, Quality::loss) {
  take_any_clock();
  Party loser = party();
  Lock lock = loser.client.make_lock("name", losable());
  lock.lock();
  lock.lock();
  lose(lock);
  const std::uint64_t before = loser.probe->counts().releases;
  lock.unlock();
  lock.unlock();
  EXPECT_EQ(loser.probe->counts().releases, before);
}

// Promise: S7
MORTISE_TEST(LostHold, LeavesTheNameToOtherThreadsAtOnce, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  Lock same = one.make_lock("name");
  lock.lock();
  lock.lock();
  lose(lock);
  Worker thread;
  thread.run([&] { same.lock(); });
  EXPECT_EQ(lock.hold_count(), 2U);
  EXPECT_NE(lock.token(), thread.run([&] { return same.token(); }));
  std::error_code ec;
  EXPECT_FALSE(lock.try_lock(ec));
  EXPECT_EQ(ec, Errc::lost);
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(thread.run([&] { return same.hold_count(); }), 1U);
  EXPECT_FALSE(lock.try_lock()) << "the loser's unlocks freed the hold of another thread";
  EXPECT_EQ(thread.run([&] { return same.release(); }), Released::released);
}

MORTISE_TEST(LostHold, LeavesTheNameToWaitersOfTheProcess, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  Lock same = one.make_lock("name");
  lock.lock();
  const Token token = lock.token();
  Worker thread;
  auto served = thread.start([&] {
    const std::lock_guard hold(same);
    return same.token();
  });
  ASSERT_TRUE(thread.falls_asleep());
  lose(lock);
  EXPECT_GT(served.get(), token);
  lock.unlock();
}

// Promise: S7
MORTISE_TEST(LostHold, LeavesTheNameToOtherClientsAtOnce, Quality::loss) {
  take_any_clock();
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name", losable());
  lock.lock();
  lose(lock);
  Lock next = other.make_lock("name");
  next.lock();
  EXPECT_EQ(lock.hold_count(), 1U);
  lock.unlock();
  EXPECT_EQ(next.hold_count(), 1U);
  next.unlock();
}

// Promise: S7
MORTISE_TEST(LostHold, OfTwoOwnersAreRememberedApart, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  const Owner first = Owner::unique();
  const Owner second = Owner::unique();
  ASSERT_TRUE(lock.acquire({.owner = first}));
  lose(lock, first);
  ASSERT_TRUE(lock.acquire({.owner = second}));
  ASSERT_TRUE(lock.acquire({.owner = second}));
  lose(lock, second);
  EXPECT_EQ(lock.hold_count(first), 1U);
  EXPECT_EQ(lock.hold_count(second), 2U);
  EXPECT_LT(lock.token(first), lock.token(second));
  EXPECT_EQ(lock.release(first), Released::was_lost);
  EXPECT_EQ(lock.hold_count(second), 2U);
  EXPECT_EQ(lock.release(second), Released::was_lost);
  EXPECT_EQ(lock.release(second), Released::was_lost);
  std::error_code ec;
  lock.unlock(ec, first);
  EXPECT_EQ(ec, Errc::not_owner);
}

// Promise: L4
MORTISE_TEST(LostHold, EndsAGuardedSectionWithoutNoise, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  std::unique_lock hold(lock);
  lose(lock);
  EXPECT_TRUE(hold.owns_lock());
  hold.unlock();
  EXPECT_THROW(hold.unlock(), std::system_error) << "std::unique_lock's own check";
  hold.lock();
}

}  // namespace
}  // namespace mortise::contract
