// SPDX-License-Identifier: MIT
// Goal: n locks need n unlocks of the same owner (S7), re-entry costs nothing and changes nothing
// but the count. Method: counts, tokens, deadlines and requests before and after a re-entry.
#include "support/contract_suites.hpp"

namespace mortise::contract {
namespace {

// Promise: S7
MORTISE_TEST(Reentry, NLocksNeedNUnlocks) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  Lock wanted = other.make_lock("name");
  constexpr std::size_t depth = 5;
  for (std::size_t n = 1; n <= depth; ++n) {
    EXPECT_TRUE(n % 2 == 0 ? lock.try_lock() : lock.try_lock_for(patience));
    EXPECT_EQ(lock.hold_count(), n);
  }
  for (std::size_t left = depth; left > 0; --left) {
    EXPECT_EQ(lock.hold_count(), left);
    EXPECT_FALSE(wanted.try_lock()) << left << " unlocks are owed";
    EXPECT_EQ(lock.release(), Released::released);
  }
  EXPECT_EQ(lock.hold_count(), 0U);
  EXPECT_TRUE(wanted.try_lock());
  wanted.unlock();
}

MORTISE_TEST(Reentry, HandlesOfOneNameAreOneLock) {
  Client one = client();
  Client other = client();
  Lock first = one.make_lock("name");
  Lock second = one.make_lock("name");
  first.lock();
  second.lock();
  EXPECT_EQ(first.hold_count(), 2U);
  EXPECT_EQ(second.hold_count(), 2U);
  first.unlock();
  second.unlock();
  EXPECT_TRUE(other.make_lock("name").try_lock());
}

MORTISE_TEST(Reentry, AHoldOutlivesItsHandle) {
  Client one = client();
  Client other = client();
  Token token;
  {
    Lock gone = one.make_lock("name");
    gone.lock();
    token = gone.token();
  }
  EXPECT_FALSE(other.make_lock("name").try_lock());
  Lock found = one.make_lock("name");
  EXPECT_EQ(found.hold_count(), 1U);
  EXPECT_EQ(found.token(), token);
  EXPECT_EQ(found.release(), Released::released);
  Lock next = other.make_lock("name");
  EXPECT_TRUE(next.try_lock());
  next.unlock();
}

// Promise: S7
MORTISE_TEST(Reentry, UnlockOnceTooOftenIsRefused) {
  Client one = client();
  Lock lock = one.make_lock("name");
  std::error_code ec;
  lock.unlock(ec);
  EXPECT_EQ(ec, Errc::not_owner) << "never locked";
  lock.lock();
  lock.lock();
  lock.unlock();
  lock.unlock();
  lock.unlock(ec);
  EXPECT_EQ(ec, Errc::not_owner);
  EXPECT_THROW(lock.unlock(), Error);
  EXPECT_THROW(static_cast<void>(lock.release()), Error);
  EXPECT_EQ(lock.hold_count(), 0U);
  lock.lock();
  EXPECT_EQ(lock.hold_count(), 1U) << "a refused unlock was remembered";
  lock.unlock();
}

MORTISE_TEST(Reentry, CostsNoRequest) {
  Party holder = party();
  Lock lock = holder.client.make_lock("name");
  lock.lock();
  const std::uint64_t before = holder.probe->counts().acquires;
  const std::uint64_t releases = holder.probe->counts().releases;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(lock.try_lock());
    EXPECT_EQ(lock.release(), Released::released);
  }
  EXPECT_EQ(holder.probe->counts().acquires, before);
  EXPECT_EQ(holder.probe->counts().releases, releases);
  lock.unlock();
  EXPECT_EQ(holder.probe->counts().releases, releases + 1);
}

MORTISE_TEST(Reentry, NeedsNoServer, Hook::unreachable) {
  Client one = client();
  Lock lock = one.make_lock("name");
  lock.lock();
  store().set_reachable(false);
  EXPECT_TRUE(lock.try_lock());
  EXPECT_EQ(lock.release(), Released::released) << "an inner unlock of a hold that stands";
  store().set_reachable(true);
  EXPECT_EQ(lock.release(), Released::released);
}

// Promise: S7
MORTISE_TEST(Reentry, AnotherThreadIsNoOwner) {
  Client one = client();
  Lock lock = one.make_lock("name");
  lock.lock();
  Worker thread;
  EXPECT_FALSE(thread.run([&] { return lock.try_lock(); }));
  EXPECT_EQ(thread.run([&] { return lock.hold_count(); }), 0U);
  lock.unlock();
}

MORTISE_TEST(Reentry, AnExplicitOwnerReentersFromAnyThread) {
  Client one = client();
  Lock lock = one.make_lock("name");
  const Owner owner = Owner::unique();
  ASSERT_TRUE(lock.acquire({.owner = owner}));
  EXPECT_EQ(lock.hold_count(), 0U) << "the calling thread is somebody else";
  EXPECT_FALSE(lock.try_lock());
  Worker thread;
  EXPECT_TRUE(thread.run([&] { return lock.acquire({.wait = 0ns, .owner = owner}); }));
  EXPECT_EQ(lock.hold_count(owner), 2U);
  EXPECT_EQ(thread.run([&] { return lock.release(owner); }), Released::released);
  lock.unlock(owner);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

MORTISE_TEST(Reentry, OfAWaiterWhoseOwnerHasBeenServedElsewhere) {
  // Two threads wait for one owner: when it is served, both hold, each once.
  Client one = client();
  Client other = client();
  Lock blocker = other.make_lock("name");
  blocker.lock();
  Lock lock = one.make_lock("name");
  const Owner owner = Owner::unique();
  Worker first;
  Worker second;
  auto one_of_them = first.start([&] { return lock.acquire({.owner = owner}); });
  ASSERT_TRUE(first.falls_asleep());
  auto the_other = second.start([&] { return lock.acquire({.owner = owner}); });
  ASSERT_TRUE(second.falls_asleep());
  blocker.unlock();
  EXPECT_TRUE(one_of_them.get());
  EXPECT_TRUE(the_other.get());
  EXPECT_EQ(lock.hold_count(owner), 2U);
  lock.unlock(owner);
  lock.unlock(owner);
  EXPECT_TRUE(blocker.try_lock_for(patience));
  blocker.unlock();
}

MORTISE_TEST(Reentry, GoesWithRenewal, Quality::leases) {
  // The most repeated bug of the field: each entry starts a renewal of its own, or an inner unlock
  // ends the only one.
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Party holder = party({.observer = record});
  const LockOptions options{.lease = real_time() ? renewed_lease() : 30'000ms};
  Lock lock = holder.client.make_lock("name", options);
  lock.lock();
  lock.lock();
  lock.lock();
  std::size_t renewals = 0;
  const auto renewed_once_more = [&] {
    ++renewals;
    if (!real_time()) clock().advance(options.lease / 3);
    return record->told(Record::Kind::renewed, renewals);
  };
  ASSERT_TRUE(renewed_once_more());
  if (!real_time()) {
    EXPECT_EQ(holder.probe->renewals_of("name"), 1U) << "one renewal an entry";
  }
  lock.unlock();
  ASSERT_TRUE(renewed_once_more()) << "an inner unlock ended the renewal";
  lock.unlock();
  ASSERT_TRUE(renewed_once_more()) << "an inner unlock ended the renewal";
  EXPECT_GT(lock.valid_for(), 0ns);
  EXPECT_EQ(lock.release(), Released::released);
}

MORTISE_TEST(Reentry, DoesNotShortenTheLease, Quality::leases) {
  Client one = client();
  Lock outer = one.make_lock("name", {.lease = 30s});
  Lock inner = one.make_lock("name", {.lease = 100ms, .renew = false, .max_hold = 50ms});
  outer.lock();
  const auto before = outer.valid_for();
  inner.lock();
  EXPECT_GT(inner.valid_for(), before - 10s);
  inner.unlock();
  EXPECT_GT(outer.valid_for(), before - 10s);
  EXPECT_EQ(outer.release(), Released::released);
}

MORTISE_TEST(Reentry, DoesNotLengthenTheLease, Quality::leases) {
  Client one = client();
  Lock outer = one.make_lock("name", {.lease = 5s, .renew = false});
  Lock inner = one.make_lock("name", {.lease = 60s});
  outer.lock();
  const auto before = outer.valid_for();
  inner.lock();
  EXPECT_LE(inner.valid_for(), before) << "the options of the outermost acquisition rule";
  inner.unlock();
  outer.unlock();
}

}  // namespace
}  // namespace mortise::contract
