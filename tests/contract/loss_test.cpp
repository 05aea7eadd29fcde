// SPDX-License-Identifier: MIT
// Goal: whoever loses a hold is told once, and whatever it does then harms nobody (S6). Method:
// holds that the test has lost, and callbacks that block, lock, unlock, and destroy what they stand
// on.
#include "support/contract_suites.hpp"

#include <memory>
#include <optional>

namespace mortise::contract {
namespace {

using Callback = std::stop_callback<std::function<void()>>;

// Promise: S6
MORTISE_TEST(Loss, IsToldOnce, Quality::loss) {
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Lock lock = one.make_lock("name", losable());
  lock.lock();
  lock.lock();
  std::atomic<int> first{0};
  std::atomic<int> second{0};
  const Callback counts(lock.lost(), [&] { ++first; });
  const Callback counts_too(lock.lost(), [&] { ++second; });
  lose(lock);
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(lock.release(), Released::was_lost);
  lock.lock();
  lock.unlock();
  one.close();
  EXPECT_EQ(first.load(), 1);
  EXPECT_EQ(second.load(), 1);
  ASSERT_TRUE(record->told(Record::Kind::lost, 1));
  EXPECT_EQ(record->all(Record::Kind::lost)[0].why.code, Errc::lost);
  EXPECT_NE(record->all(Record::Kind::lost)[0].why.text.find("name"), std::string::npos);
}

MORTISE_TEST(Loss, IsKnownToWhoAsksLater, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  EXPECT_FALSE(lock.lost().stop_possible()) << "nothing is held yet";
  lock.lock();
  lose(lock);
  EXPECT_TRUE(lock.lost().stop_requested());
  std::atomic<int> told{0};
  const Callback late(lock.lost(), [&] { ++told; });
  EXPECT_EQ(told.load(), 1);
  lock.unlock();
  EXPECT_FALSE(lock.lost().stop_possible());
}

MORTISE_TEST(Loss, IsTheOwnersAlone, Quality::loss) {
  take_any_clock();
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name", losable());
  Lock unconcerned = one.make_lock("other name", {.lease = 10min});
  lock.lock();
  unconcerned.lock();
  const std::stop_token theirs = unconcerned.lost();
  Worker stranger;
  EXPECT_FALSE(stranger.run([&] { return lock.lost().stop_possible(); }));
  lose(lock);
  EXPECT_FALSE(theirs.stop_requested());
  EXPECT_GT(unconcerned.valid_for(), 0ns);
  EXPECT_FALSE(stranger.run([&] { return lock.lost().stop_requested(); }));
  unconcerned.unlock();
  lock.unlock();
}

MORTISE_TEST(Loss, DoesNotFollowAnUnlock, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock unlocked = one.make_lock("unlocked", losable());
  Lock lost = one.make_lock("lost", losable());
  unlocked.lock();
  std::atomic<int> told{0};
  const Callback never(unlocked.lost(), [&] { ++told; });
  unlocked.unlock();
  lost.lock();
  lose(lost);  // by then a loss of the other one, whose lease is as long, would be told as well
  EXPECT_EQ(told.load(), 0);
  lost.unlock();
}

MORTISE_TEST(Loss, OfAHandedOverHoldIsToldToItsPresentOwnerOnly, Quality::loss) {
  take_any_clock();
  Client one = client({.turn = 10s});
  Lock lock = one.make_lock("name", losable());
  const Owner former = Owner::unique();
  const Owner present = Owner::unique();
  ASSERT_TRUE(lock.acquire({.owner = former}));
  std::atomic<int> told{0};
  const Callback never(lock.lost(former), [&] { ++told; });
  Worker waiter;
  auto served = waiter.start([&] { return lock.acquire({.owner = present}); });
  ASSERT_TRUE(waiter.falls_asleep());
  lock.unlock(former);
  ASSERT_TRUE(served.get());
  lose(lock, present);
  EXPECT_TRUE(lock.lost(present).stop_requested());
  EXPECT_EQ(told.load(), 0);
  EXPECT_FALSE(lock.lost(former).stop_possible());
  lock.unlock(present);
}

MORTISE_TEST(Loss, CallbackSeesItAndMayUnlockAndLock, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  Lock elsewhere = one.make_lock("other name");
  const Owner owner = Owner::unique();
  ASSERT_TRUE(lock.acquire({.owner = owner}));
  const Token token = lock.token(owner);
  Signal done;
  const Callback callback(lock.lost(owner), [&] {
    EXPECT_EQ(lock.valid_for(owner), 0ns);
    EXPECT_EQ(lock.hold_count(owner), 1U);
    EXPECT_EQ(lock.token(owner), token);
    EXPECT_EQ(lock.release(owner), Released::was_lost);
    EXPECT_EQ(lock.hold_count(owner), 0U);
    elsewhere.lock();
    elsewhere.unlock();
    EXPECT_TRUE(lock.acquire({.owner = owner}));
    lock.unlock(owner);
    done.set();
  });
  lose(lock, owner);
  EXPECT_TRUE(done.wait());
}

// Promise: S6
MORTISE_TEST(Loss, CallbackMayDestroyTheLock, Quality::loss) {
  take_any_clock();
  Client one = client();
  std::optional<Lock> lock = one.make_lock("name", losable());
  const Owner owner = Owner::unique();
  ASSERT_TRUE(lock->acquire({.owner = owner}));
  Signal done;
  const Callback callback(lock->lost(owner), [&] {
    lock->unlock(owner);
    lock.reset();
    done.set();
  });
  {
    Lock another_handle = one.make_lock("name");
    lose(another_handle, owner);
  }
  ASSERT_TRUE(done.wait());
  Lock again = one.make_lock("name");
  again.lock();
  again.unlock();
}

// Promise: S6
MORTISE_TEST(Loss, CallbackMayDestroyTheClient, Quality::loss) {
  take_any_clock();
  auto one = std::make_unique<Client>(client());
  Client other = client();
  Lock lock = one->make_lock("name", losable());
  Lock held_too = one->make_lock("other name");
  held_too.lock();
  const Owner owner = Owner::unique();
  ASSERT_TRUE(lock.acquire({.owner = owner}));
  Signal done;
  std::chrono::nanoseconds took{0};
  const Callback callback(lock.lost(owner), [&] {
    took = own_duration_of([&] { one.reset(); });
    done.set();
  });
  lose(lock, owner);
  ASSERT_TRUE(done.wait());
  EXPECT_LT(took, 2s) << "close() is bounded, in a callback too";
  std::error_code ec;
  lock.lock(ec);
  EXPECT_EQ(ec, Errc::closed);
  Lock next = other.make_lock("other name");
  EXPECT_TRUE(taken_within(next, fallback_period * 3)) << "the destroyed client kept its holds";
  next.unlock();
}

// Promise: S6
MORTISE_TEST(Loss, CallbackMayDestroyEverything, Quality::loss) {
  take_any_clock();
  struct Everything {
    std::optional<Client> client;
    std::optional<Lock> lock;
    std::optional<Guard> guard;
  };
  auto all = std::make_unique<Everything>();
  all->client.emplace(client());
  all->lock.emplace(all->client->make_lock("name", losable()));
  const Owner owner = Owner::unique();
  all->guard.emplace(*all->lock, AcquireOptions{.owner = owner});
  ASSERT_TRUE(*all->guard);
  Lock handle = all->client->make_lock("name");
  Signal done;
  const Callback callback(all->guard->lost(), [&] {
    all->client.reset();
    all->lock.reset();
    all->guard.reset();
    done.set();
  });
  lose(handle, owner);
  ASSERT_TRUE(done.wait());
}

// Promise: S6
MORTISE_TEST(Loss, CallbackMayCloseTheClient, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  lock.lock();
  Signal done;
  const Callback callback(lock.lost(), [&] {
    one.close();
    done.set();
  });
  lose(lock);
  ASSERT_TRUE(done.wait());
  std::error_code ec;
  lock.lock(ec);
  EXPECT_EQ(ec, Errc::closed);
}

// Promise: S6
MORTISE_TEST(Loss, ASlowCallbackDelaysNoOtherNotice, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock first = one.make_lock("first", losable());
  Lock second = one.make_lock("second", losable());
  first.lock();
  Signal began;
  Signal end;
  const Callback slow(first.lost(), [&] {
    began.set();
    EXPECT_TRUE(end.wait());
  });
  // Lost behind its back: `lose()` would wait for the callback's end.
  Worker killer;
  const Owner owner = Owner::this_thread();
  auto killed = killer.start([&] { lose(first, owner); });
  ASSERT_TRUE(began.wait());
  first.unlock();
  second.lock();
  lose(second);
  EXPECT_TRUE(second.lost().stop_requested()) << "told only after the slow callback has ended";
  end.set();
  killed.get();
  second.unlock();
}

// Promise: S6
MORTISE_TEST(Loss, ASlowCallbackDelaysNoRenewal, Quality::leases) {
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  const LockOptions renewed{.lease = real_time() ? renewed_lease() : 60'000ms};
  Lock kept = one.make_lock("kept", renewed);
  Lock lost = one.make_lock("lost", losable());
  kept.lock();
  lost.lock();
  Signal began;
  Signal end;
  const Callback slow(lost.lost(), [&] {
    began.set();
    EXPECT_TRUE(end.wait());
  });
  const Owner owner = Owner::this_thread();
  Worker killer;
  auto killed = killer.start([&] { lose(lost, owner); });
  ASSERT_TRUE(began.wait());
  const std::size_t before = record->count(Record::Kind::renewed);
  for (std::size_t i = 1; i <= 4; ++i) {
    if (!real_time()) clock().advance(renewed.lease / 3);
    ASSERT_TRUE(record->told(Record::Kind::renewed, before + i));
    ASSERT_GT(kept.valid_for(), 0ns);
  }
  end.set();
  killed.get();
  kept.unlock();
  lost.unlock();
}

MORTISE_TEST(Loss, AGuardTellsOfIt, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  {
    Guard guard(lock);
    ASSERT_TRUE(guard);
    const Token token = guard.token();
    EXPECT_FALSE(guard.lost().stop_requested());
    lose(lock);
    EXPECT_TRUE(guard.lost().stop_requested());
    EXPECT_EQ(guard.valid_for(), 0ns);
    EXPECT_EQ(guard.token(), token);
    EXPECT_TRUE(guard) << "it has still to be released";
    EXPECT_EQ(guard.unlock(), Released::was_lost);
    EXPECT_FALSE(guard);
  }
  {
    Guard guard(lock);
    ASSERT_TRUE(guard);
    lose(lock);
  }
  EXPECT_EQ(lock.hold_count(), 0U) << "the destructor unlocks a lost hold silently";
}

}  // namespace
}  // namespace mortise::contract
