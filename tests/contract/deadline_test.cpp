// SPDX-License-Identifier: MIT
// Goal: a hold ends, for its owner, before it ends for the server, and for ever (S1, S6). Method: a
// clock in the test's hand where the store follows one; delays that a wrong count would swallow;
// and, on the real clock, deadlines that are looked at from both sides.
#include "support/contract_suites.hpp"

namespace mortise::contract {
namespace {

MORTISE_TEST(Deadline, WithoutLeasesAHoldIsValidForEver, Quality::no_leases) {
  Client one = client();
  Lock lock = one.make_lock("name", {.lease = 100ms, .renew = false});
  lock.lock();
  EXPECT_EQ(lock.valid_for(), std::chrono::nanoseconds::max());
  lock.unlock();
  EXPECT_EQ(lock.valid_for(), 0ns);
}

MORTISE_TEST(Deadline, LeavesTheMarginUnused, Quality::leases) {
  Client one = client();
  const LockOptions options{.lease = 20s};
  Lock lock = one.make_lock("name", options);
  EXPECT_EQ(lock.valid_for(), 0ns);
  lock.lock();
  const std::chrono::milliseconds lease = lease_of(options);
  EXPECT_LE(lock.valid_for(), lease - margin_of(lease));
  EXPECT_GT(lock.valid_for(), lease / 2);
  Worker stranger;
  EXPECT_EQ(stranger.run([&] { return lock.valid_for(); }), 0ns);
  lock.unlock();
  EXPECT_EQ(lock.valid_for(), 0ns);
}

// Promise: S6
MORTISE_TEST(Deadline, IsExactAndKnownAtTheFirstLook, Quality::leases, Hook::hand_clock) {
  take_the_clock();
  Client one = client();
  Client other = client();
  const LockOptions options{.lease = 30s, .renew = false};
  Lock lock = one.make_lock("name", options);
  Lock wanted = other.make_lock("name");
  lock.lock();
  const auto usable = options.lease - margin_of(options.lease);
  EXPECT_EQ(lock.valid_for(), usable);
  clock().advance(usable - 1ns);
  EXPECT_EQ(lock.valid_for(), 1ns);
  EXPECT_FALSE(lock.lost().stop_requested());
  clock().advance(1ns);
  EXPECT_EQ(lock.valid_for(), 0ns) << "by the clock alone, whatever the watchdog does";
  EXPECT_FALSE(wanted.try_lock()) << "the server's lease ends later than the holder's";
  clock().advance(options.lease - usable);
  EXPECT_TRUE(wanted.try_lock());
  EXPECT_EQ(lock.valid_for(), 0ns);
  EXPECT_EQ(lock.release(), Released::was_lost);
  wanted.unlock();
}

// Promise: S1
MORTISE_TEST(Deadline, CountsFromTheRequestAndNotFromTheReply, Quality::leases, Hook::delays) {
  Client one = client();
  constexpr auto one_way = 60ms;
  store().misbehave({.delay_min = one_way, .delay_max = one_way});
  const LockOptions options{.lease = 10s, .renew = false};
  const auto lease = lease_of(options);
  Lock lock = one.make_lock("name", options);
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_LE(lock.valid_for(), lease - margin_of(lease) - 2 * one_way);
  store().misbehave({});
  lock.unlock();
}

MORTISE_TEST(Deadline, OfAPushedGrantCountsFromTheGrantAtTheServer, Quality::leases, Hook::delays) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  held.lock();
  // A command is given a sixth of it, and an answer takes two of the ways below.
  const LockOptions options{.lease = 2'000ms, .renew = false};
  const auto lease = lease_of(options);
  Lock wanted = other.make_lock("name", options);
  Worker waiter;
  const Owner owner = Owner::unique();
  auto served = waiter.start([&] {
    EXPECT_TRUE(wanted.acquire({.owner = owner}));
    return wanted.valid_for(owner);
  });
  ASSERT_TRUE(waiter.falls_asleep());
  constexpr auto one_way = 100ms;
  store().misbehave({.delay_min = one_way, .delay_max = one_way});
  Worker holder;
  held.unlock();
  const std::chrono::nanoseconds valid = served.get();
  EXPECT_LE(valid, lease - margin_of(lease) - one_way);
  store().misbehave({});
  static_cast<void>(wanted.release(owner));
}

MORTISE_TEST(Deadline, OfARenewalCountsFromItsRequest, Quality::leases, Hook::delays) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  const LockOptions options{.lease = 1'200ms};
  const auto lease = lease_of(options);
  Lock lock = one.make_lock("name", options);
  lock.lock();
  constexpr auto one_way = 60ms;
  store().misbehave({.delay_min = one_way, .delay_max = one_way});
  // The first of them may have been under way before the delays began.
  ASSERT_TRUE(record->told(Record::Kind::renewed, record->count(Record::Kind::renewed) + 2));
  EXPECT_LE(lock.valid_for(), lease - margin_of(lease) - 2 * one_way);
  store().misbehave({});
  static_cast<void>(lock.release());
}

MORTISE_TEST(Deadline, WithoutRenewalTheHoldEndsWithItsLease, Quality::leases) {
  Party holder = party();
  Client other = client();
  Lock lock = holder.client.make_lock("name", {.lease = short_lease(), .renew = false});
  lock.lock();
  const std::stop_token lost = lock.lost();
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, short_lease() + fallback_period));
  EXPECT_EQ(lock.valid_for(), 0ns);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_EQ(holder.probe->counts().renewals, 0U);
  EXPECT_EQ(lock.release(), Released::was_lost);
  next.unlock();
}

MORTISE_TEST(Deadline, RenewalKeepsAHoldBeyondItsLease, Quality::leases) {
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  const LockOptions options{.lease = real_time() ? renewed_lease() : 30'000ms};
  Lock lock = one.make_lock("name", options);
  lock.lock();
  for (std::size_t renewals = 1; renewals <= 5; ++renewals) {
    if (!real_time()) clock().advance(options.lease / 3);
    ASSERT_TRUE(record->told(Record::Kind::renewed, renewals));
  }
  EXPECT_GT(lock.valid_for(), 0ns);
  EXPECT_FALSE(other.make_lock("name").try_lock());
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(record->count(Record::Kind::lost), 0U);
}

// The hold before has left its timer armed, too late for this one, or too early.
MORTISE_TEST(Deadline, RenewalComesInTimeWhateverTheLeaseOfTheHoldBefore, Quality::leases) {
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  const std::chrono::milliseconds lease = real_time() ? renewed_lease() / 2 : 30'000ms;
  Lock brief = one.make_lock("name", {.lease = lease});
  Lock lengthy = one.make_lock("name", {.lease = lease * 3});
  std::size_t renewals = 0;
  const auto renew_after = [&](Lock& before, Lock& lock, std::chrono::milliseconds period) {
    before.lock();
    before.unlock();
    lock.lock();
    for (int i = 0; i < 2; ++i) {
      if (!real_time()) clock().advance(lease / 3);
      if (!real_time()) clock().advance(period - lease / 3);
      EXPECT_TRUE(record->told(Record::Kind::renewed, ++renewals));
    }
    EXPECT_GT(lock.valid_for(), 0ns);
    lock.unlock();
  };
  renew_after(lengthy, brief, lease / 3);
  renew_after(brief, lengthy, lease);
  EXPECT_EQ(record->count(Record::Kind::lost), 0U);
}

// Promise: S6
MORTISE_TEST(Deadline, LostFiresWithinTheAllowance, Quality::leases) {
  Client one = client();
  const auto lateness = [&]() -> std::chrono::nanoseconds {
    Lock lock = one.make_lock("name", {.lease = short_lease(), .renew = false});
    lock.lock();
    const Instant deadline = BootClock::now() + lock.valid_for();
    std::atomic<Instant::rep> fired{0};
    Signal told;
    const std::stop_callback callback(lock.lost(), [&] {
      fired = BootClock::now().time_since_epoch().count();
      told.set();
    });
    EXPECT_TRUE(told.wait());
    lock.unlock();
    const auto late = Instant(Instant::duration(fired.load())) - deadline;
    // `deadline` was computed a moment after the real one.
    EXPECT_GT(late, -10ms) << "lost before anybody could know it";
    return late;
  };
  EXPECT_LE(best_of(5, allowance, lateness), allowance);
}

// Promise: S6
MORTISE_TEST(Deadline, LossIsToldAsSoonAsTheServerTells, Hook::take_away) {
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  const LockOptions options{.lease = real_time() ? short_lease() * 10 : 30'000ms};
  Lock lock = one.make_lock("name", options);
  lock.lock();
  const std::stop_token lost = lock.lost();
  const auto usable = lock.valid_for();
  const Instant began = BootClock::now();
  store().take_away("name");
  if (!real_time()) clock().advance(options.lease / 3);  // the next renewal: the deadline is far
  ASSERT_TRUE(eventually([&] { return lost.stop_requested(); }));
  if (real_time()) {
    EXPECT_LT(BootClock::now() - began, usable);
  }
  EXPECT_EQ(lock.valid_for(), 0ns);
  ASSERT_TRUE(record->told(Record::Kind::lost, 1));
  EXPECT_EQ(record->all(Record::Kind::lost)[0].why.code, Errc::lost);
  EXPECT_EQ(lock.release(), Released::was_lost);
}

// Promise: S4
MORTISE_TEST(Deadline, ALapsedHoldStaysLapsed, Quality::leases, Hook::unreachable,
             Hook::hand_clock) {
  take_the_clock();
  Client one = client();
  Lock lock = one.make_lock("name", {.lease = 30s});
  lock.lock();
  const std::stop_token lost = lock.lost();
  store().set_reachable(false);
  clock().advance(lock.valid_for());
  EXPECT_EQ(lock.valid_for(), 0ns);
  store().set_reachable(true);
  // The server would still renew it: its lease ends a margin later.
  for (int i = 0; i < 20; ++i) {
    clock().advance(10ms);
    ASSERT_EQ(lock.valid_for(), 0ns) << "a lapsed hold came back";
  }
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_EQ(lock.release(), Released::was_lost);
}

}  // namespace
}  // namespace mortise::contract
