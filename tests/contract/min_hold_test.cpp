// SPDX-License-Identifier: MIT
// Goal: a name stays taken for `min_hold`, whoever unlocked it and however its client ended since.
// Method: holds that are unlocked at once, and others that try meanwhile; the times are counted so
// that a slow machine makes no test fail.
#include "model/process.hpp"
#include "support/contract_process.hpp"
#include "support/contract_suites.hpp"

#include <optional>

namespace mortise::contract {
namespace {

using Steady = std::chrono::steady_clock;

/// What a store that asks once a second, and rounds up to that, may add.
constexpr auto slack = 2 * fallback_period + patience;

MORTISE_TEST(MinHold, IsRefusedWhereTheStoreCannotKeepIt, Quality::no_min_hold) {
  Client one = client();
  try {
    static_cast<void>(one.make_lock("name", {.min_hold = 1ms}));
    FAIL() << "it promises what it does not keep";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::unsupported);
    EXPECT_NE(std::string(error.what()).find("min_hold"), std::string::npos) << error.what();
  }
  one.make_lock("name", {.min_hold = 0ms}).lock();
}

// Promise: M1
MORTISE_TEST(MinHold, KeepsTheNameFromTheGrantOn, Quality::min_hold) {
  Client one = client();
  Client other = client();
  // Longer than the lease, so that the store has to be told.
  const std::chrono::milliseconds min_hold = short_lease() * 5;
  Lock lock = one.make_lock("name", {.lease = short_lease(), .min_hold = min_hold});
  const auto before = Steady::now();
  lock.lock();
  const Token token = lock.token();
  // A short lease leaves the server little time to answer: what is not heard is said again.
  EXPECT_LT(own_duration_of([&] { EXPECT_NE(lock.release(), Released::was_lost); }), min_hold / 2);
  EXPECT_EQ(lock.hold_count(), 0U);
  EXPECT_EQ(lock.valid_for(), 0ns);
  Lock next = other.make_lock("name");
  EXPECT_TRUE(next.try_lock_for(min_hold + slack));
  EXPECT_GE(Steady::now() - before, min_hold);
  EXPECT_GT(next.token(), token);
  next.unlock();
}

// Promise: M1
MORTISE_TEST(MinHold, OfAnOwnerThatReadsOnNobodyReadsBeside, Quality::min_hold, Quality::shared) {
  Client one = client();
  Client other = client();
  const std::chrono::milliseconds min_hold = short_lease() * 5;
  Lock writer = one.make_lock("name", {.min_hold = min_hold});
  Lock reader = one.make_lock("name", {.lease = short_lease() * 3, .mode = Mode::shared});
  Lock elsewhere = other.make_lock("name", {.mode = Mode::shared});
  Worker same_client;
  Worker other_client;
  const auto before = Steady::now();
  writer.lock();
  reader.lock();
  EXPECT_NE(writer.release(), Released::was_lost);
  EXPECT_FALSE(elsewhere.try_lock());
  const auto reads = [&](Lock& lock) {
    return [&lock] {
      const std::unique_lock hold(lock, patience);
      return hold ? Steady::now() : Steady::time_point();
    };
  };
  auto here = same_client.start(reads(reader));
  auto there = other_client.start(reads(elsewhere));
  EXPECT_GE(here.get() - before, min_hold);
  EXPECT_GE(there.get() - before, min_hold);
  reader.unlock();
}

// A store notifies a waiter of a release, and not of a lease that ends. By itself a waiter asks
// once a second.
MORTISE_TEST(MinHold, EndsOnTimeForAWaiter, Quality::min_hold) {
  Client one = client();
  Party other = party();
  for (const std::chrono::milliseconds kept : {300ms, 1300ms}) {
    const std::chrono::milliseconds min_hold = kept + answer_time;
    const auto late = best_of(4, 250ms, [&] {
      std::chrono::nanoseconds took{};
      const auto own = own_duration_of([&] {
        Lock lock = one.make_lock("name", {.lease = 10min, .min_hold = min_hold});
        const auto before = Steady::now();
        lock.lock();
        Worker waiter;
        const std::uint64_t asked = other.probe->counts().acquires;
        auto served = waiter.start([&] {
          Lock next = other.client.make_lock("name");
          const std::lock_guard hold(next);
          return Steady::now();
        });
        EXPECT_TRUE(eventually([&] { return other.probe->counts().acquires > asked; }));
        EXPECT_TRUE(waiter.falls_asleep());
        EXPECT_NE(lock.release(), Released::was_lost);
        took = served.get() - before;
      });
      EXPECT_GE(took, min_hold);
      return own - min_hold;
    });
    EXPECT_LT(late, 250ms) << "kept for " << kept.count() << " ms";
  }
}

MORTISE_TEST(MinHold, EndsALongerLeaseInTime, Quality::min_hold) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name", {.lease = 10min, .min_hold = short_lease() * 2});
  const auto before = Steady::now();
  lock.lock();
  lock.unlock();
  Lock next = other.make_lock("name");
  EXPECT_TRUE(next.try_lock_for(short_lease() * 2 + slack));
  EXPECT_GE(Steady::now() - before, short_lease() * 2);
  next.unlock();
}

MORTISE_TEST(MinHold, LeavesAnOlderHoldToBeReleased, Quality::min_hold) {
  Party holder = party();
  Client other = client();
  Lock lock = holder.client.make_lock("name", {.lease = 10min, .min_hold = 50ms});
  lock.lock();
  std::this_thread::sleep_for(60ms);
  const std::uint64_t before = holder.probe->counts().releases;
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(holder.probe->counts().releases, before + 1);
  Lock next = other.make_lock("name");
  EXPECT_TRUE(next.try_lock());
  next.unlock();
}

MORTISE_TEST(MinHold, IsOfTheLastUnlock, Quality::min_hold) {
  Client one = client();
  Lock lock = one.make_lock("name", {.min_hold = 10min});
  lock.lock();
  lock.lock();
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(lock.hold_count(), 1U);
  EXPECT_GT(lock.valid_for(), 0ns);
  lock.unlock();
  EXPECT_EQ(lock.hold_count(), 0U);
  std::error_code ec;
  lock.unlock(ec);
  EXPECT_EQ(ec, Errc::not_owner);
}

// Promise: M1
MORTISE_TEST(MinHold, HoldsForItsFormerOwnerAndItsProcessToo, Quality::min_hold) {
  Client one = client({.turn = 10s});
  Lock lock = one.make_lock("name", {.lease = short_lease(), .min_hold = short_lease() * 5});
  const auto before = Steady::now();
  lock.lock();
  const Token token = lock.token();
  Worker waiter;
  auto served = waiter.start([&] {
    Lock same = one.make_lock("name", {.lease = short_lease(), .min_hold = short_lease() * 5});
    const std::lock_guard hold(same);
    EXPECT_GE(Steady::now() - before, short_lease() * 5) << "it was passed on";
    return same.token();
  });
  ASSERT_TRUE(waiter.falls_asleep());
  lock.unlock();
  EXPECT_FALSE(lock.try_lock()) << "it re-entered what it had unlocked";
  EXPECT_GT(served.get(), token);
}

// Promise: M1
MORTISE_TEST(MinHold, OutlivesItsClient, Quality::min_hold) {
  Client other = client();
  const std::chrono::milliseconds min_hold = short_lease() * 5;
  const auto before = Steady::now();
  {
    Client one = client();
    Lock unlocked = one.make_lock("unlocked", {.lease = short_lease(), .min_hold = min_hold});
    Lock held = one.make_lock("held", {.lease = short_lease(), .min_hold = min_hold});
    unlocked.lock();
    unlocked.unlock();
    held.lock();
  }
  Lock next = other.make_lock("unlocked");
  Lock next_too = other.make_lock("held");
  EXPECT_TRUE(next.try_lock_for(min_hold + slack));
  EXPECT_GE(Steady::now() - before, min_hold);
  EXPECT_TRUE(next_too.try_lock_for(slack));
  next.unlock();
  next_too.unlock();
}

MORTISE_TEST(MinHold, OfWhatAClosedClientHoldsIsKept, Quality::min_hold) {
  Client other = client();
  const auto before = Steady::now();
  {
    Client one = client();
    one.make_lock("name", {.lease = short_lease(), .min_hold = short_lease() * 5}).lock();
  }
  Lock next = other.make_lock("name");
  EXPECT_TRUE(next.try_lock_for(short_lease() * 5 + slack));
  EXPECT_GE(Steady::now() - before, short_lease() * 5);
  next.unlock();
}

// Promise: M1
MORTISE_TEST(MinHold, OutlivesItsProcess, Quality::min_hold, Hook::processes) {
  const std::chrono::milliseconds min_hold = short_lease() * 5;
  const Line line;
  const auto before = Steady::now();
  model::Process job = model::Process::fork_child([&] {
    Client mine = client();
    Lock lock = mine.make_lock("name", {.lease = short_lease(), .min_hold = min_hold});
    lock.lock();
    lock.unlock();
    line.tell('u');
    static_cast<void>(Line().hear(5min));
    return 0;
  });
  ASSERT_EQ(line.hear(patience), 'u');
  EXPECT_EQ(job.kill().signal, SIGKILL);
  Client other = client();
  Lock next = other.make_lock("name");
  EXPECT_TRUE(next.try_lock_for(min_hold + slack));
  EXPECT_GE(Steady::now() - before, min_hold);
  next.unlock();
}

// Promise: M1
MORTISE_TEST(MinHold, IsSaidAgainUntilItIsHeard, Quality::min_hold) {
  Party holder = party();
  Client other = client();
  // So that there is time to say it again.
  const std::chrono::milliseconds lease = 3s;
  Lock lock = holder.client.make_lock("name", {.lease = lease, .renew = false, .min_hold = 4s});
  const auto before = Steady::now();
  lock.lock();
  holder.probe->sever();
  EXPECT_EQ(lock.release(), Released::unknown);
  holder.probe->mend();
  Lock next = other.make_lock("name");
  EXPECT_TRUE(next.try_lock_for(4s + slack));
  EXPECT_GE(Steady::now() - before, 4s) << "it ended with its lease";
  next.unlock();
}

MORTISE_TEST(MinHold, EndsAtOnceByForce, Quality::min_hold, Hook::take_away) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name", {.min_hold = 10min});
  lock.lock();
  lock.unlock();
  Lock next = other.make_lock("name");
  EXPECT_FALSE(next.try_lock());
  store().take_away("name");
  EXPECT_TRUE(next.try_lock_for(slack));
  next.unlock();
}

MORTISE_TEST(MinHold, OfAHoldThatWasLostIsOver, Quality::min_hold, Quality::loss) {
  Client one = client();
  Client other = client();
  LockOptions options = losable();
  options.min_hold = 10min;
  Lock lock = one.make_lock("name", options);
  lock.lock();
  lose(lock);
  EXPECT_EQ(lock.release(), Released::was_lost);
  Lock next = other.make_lock("name");
  EXPECT_TRUE(next.try_lock_for(slack));
  next.unlock();
}

// Promise: M1
MORTISE_TEST(MinHold, IsExact, Quality::min_hold, Hook::hand_clock) {
  take_the_clock();
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name", {.min_hold = 10min});
  lock.lock();
  clock().advance(1s);
  lock.unlock();
  Lock next = other.make_lock("name");
  clock().advance(10min - 1s - 1ms);
  EXPECT_FALSE(next.try_lock());
  clock().advance(1ms + 600ms);
  EXPECT_TRUE(next.try_lock()) << "no longer than what the clocks may differ by";
  next.unlock();
}

}  // namespace
}  // namespace mortise::contract
