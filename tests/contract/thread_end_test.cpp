// SPDX-License-Identifier: MIT
// Goal: what a thread holds by `lock()` as it ends, and nobody can unlock, ends with its lease;
// what somebody can still unlock does not. Method: threads that end while they hold, leases that
// can be waited out, and an observer.
#include "support/contract_suites.hpp"

#include <optional>
#include <thread>

namespace mortise::contract {
namespace {

/// Has a thread do something, and end.
template <class Work>
void on_a_thread(Work work) {
  std::thread(std::move(work)).join();
}

/// Waits until the hold has been renewed for longer than a lease, where holds are renewed at all.
void outlasts_its_lease(const Record& record, bool leases) {
  EXPECT_TRUE(!leases || record.told(Record::Kind::renewed, 4)) << "it is not renewed any more";
}

// Promise: L9
MORTISE_TEST(ThreadEnd, EndsWhatTheThreadHolds) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  const LockOptions options{.lease = short_lease()};
  Lock lock = one.make_lock("name", options);
  Owner owner;
  Token token;
  std::stop_token lost;
  const auto began = std::chrono::steady_clock::now();
  on_a_thread([&] {
    lock.lock();
    lock.lock();
    owner = Owner::this_thread();
    token = lock.token();
    lost = lock.lost();
  });
  Lock next = other.make_lock("name");
  // The margin, and the period in which a waiter asks again, come on top.
  ASSERT_TRUE(taken_after(next, began + lease_of(options), fallback_period + patience));
  EXPECT_GT(next.token(), token);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  ASSERT_TRUE(record->told(Record::Kind::lost, 1));
  const Record::Entry told = record->all(Record::Kind::lost)[0];
  EXPECT_EQ(told.why.code, Errc::lost);
  EXPECT_EQ(told.token, token);
  EXPECT_NE(told.why.text.find("name"), std::string::npos);
  EXPECT_NE(told.why.text.find("thread"), std::string::npos) << told.why.text;
  EXPECT_EQ(lock.hold_count(owner), 0U) << "nobody will ever unlock it";
  next.unlock();
  lock.lock();
  lock.unlock();
}

// Promise: L9
MORTISE_TEST(ThreadEnd, IsBoundedByTheLease) {
  Client one = client();
  Client other = client();
  const LockOptions options{.lease = short_lease()};
  Lock lock = one.make_lock("name", options);
  on_a_thread([&] { lock.lock(); });
  Lock next = other.make_lock("name");
  const auto took = own_duration_of([&] { EXPECT_TRUE(next.try_lock_for(patience)); });
  EXPECT_LT(took, lease_of(options) + margin_of(lease_of(options)) + fallback_period + allowance);
  next.unlock();
}

// Promise: L9
MORTISE_TEST(ThreadEnd, LeavesTheNameToWaitersOfTheProcess) {
  Client one = client();
  Lock lock = one.make_lock("name", {.lease = short_lease()});
  Lock same = one.make_lock("name");
  Worker waiter;
  Worker second;
  std::future<Token> served;
  std::future<Token> served_next;
  Token token;
  on_a_thread([&] {
    lock.lock();
    token = lock.token();
    const auto waits = [&] {
      const std::lock_guard hold(same);
      return same.token();
    };
    served = waiter.start(waits);
    ASSERT_TRUE(waiter.falls_asleep());
    served_next = second.start(waits);
    ASSERT_TRUE(second.falls_asleep());
  });
  EXPECT_GT(served.get(), token);
  EXPECT_GT(served_next.get(), token);
}

MORTISE_TEST(ThreadEnd, DoesNotTouchAGuardThatIsElsewhere) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  const LockOptions options{.lease = renewed_lease()};
  Lock lock = one.make_lock("name", options);
  std::optional<Guard> guard;
  on_a_thread([&] { guard.emplace(lock); });
  Lock next = other.make_lock("name");
  outlasts_its_lease(*record, leases());
  EXPECT_FALSE(next.try_lock());
  EXPECT_GT(guard->valid_for(), 0ns);
  EXPECT_FALSE(guard->lost().stop_requested());
  Guard moved = std::move(*guard);
  guard.reset();
  EXPECT_EQ(moved.unlock(), Released::released);
  EXPECT_TRUE(next.try_lock_for(patience));
  EXPECT_EQ(record->count(Record::Kind::lost), 0U);
  next.unlock();
}

MORTISE_TEST(ThreadEnd, EndsWhatIsLeftWhenTheGuardHasGone) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  const LockOptions options{.lease = renewed_lease()};
  Lock lock = one.make_lock("name", options);
  std::optional<Guard> guard;
  Owner owner;
  on_a_thread([&] {
    guard.emplace(lock);
    lock.lock();
    owner = Owner::this_thread();
  });
  Lock next = other.make_lock("name");
  outlasts_its_lease(*record, leases());
  EXPECT_FALSE(next.try_lock());
  EXPECT_EQ(lock.hold_count(owner), 2U);
  EXPECT_EQ(guard->unlock(), Released::released);
  EXPECT_TRUE(next.try_lock_for(lease_of(options) + fallback_period + patience));
  next.unlock();
}

MORTISE_TEST(ThreadEnd, DoesNotTouchAnOwnerThatIsNoThread) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  const LockOptions options{.lease = renewed_lease()};
  Lock lock = one.make_lock("name", options);
  const Owner task = Owner::unique();
  on_a_thread([&] { EXPECT_TRUE(lock.acquire({.owner = task})); });
  Lock next = other.make_lock("name");
  outlasts_its_lease(*record, leases());
  EXPECT_FALSE(next.try_lock());
  EXPECT_EQ(lock.release(task), Released::released);
}

// As a std::unique_lock that was moved to somebody else: what it unlocks there is not its own.
MORTISE_TEST(ThreadEnd, TreatsAStandardLockThatWasMovedAsTheThreads) {
  Client one = client();
  Client other = client();
  const LockOptions options{.lease = short_lease()};
  Lock lock = one.make_lock("name", options);
  std::unique_lock<Lock> moved;
  on_a_thread([&] { moved = std::unique_lock(lock); });
  Lock next = other.make_lock("name");
  EXPECT_TRUE(next.try_lock_for(lease_of(options) + fallback_period + patience));
  EXPECT_THROW(moved.unlock(), Error) << "another thread is another owner";
  static_cast<void>(moved.release());
}

// What is destroyed after the thread's number has been given back.
MORTISE_TEST(ThreadEnd, IsSilentForWhatUnlocksLate) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name", {.lease = short_lease()});
  on_a_thread([&] {
    // Made before the thread has a number, so that it goes after that.
    thread_local std::unique_lock<Lock> late;
    late = std::unique_lock(lock);
  });
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, answer_time)) << "it was unlocked as ever";
  next.unlock();
}

MORTISE_TEST(ThreadEnd, IsSilentForWhatUnlocksLateAndWasLost, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  struct Late {
    std::unique_lock<Lock> hold;
    Lock* lock = nullptr;
    ~Late() {
      // Whoever holds the name next has what the dead have lost forgotten.
      std::thread([this] {
        lock->lock();
        lock->unlock();
      }).join();
      EXPECT_NO_THROW(hold.unlock());
    }
  };
  on_a_thread([&] {
    thread_local Late late;
    late.lock = &lock;
    late.hold = std::unique_lock(lock);
    lose(lock);
  });
  lock.lock();
  lock.unlock();
}

MORTISE_TEST(ThreadEnd, HasItsLossesForgotten, Quality::loss) {
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  Owner dead;
  std::optional<Guard> guard;
  Owner guarded;
  on_a_thread([&] {
    lock.lock();
    dead = Owner::this_thread();
    lose(lock);
  });
  EXPECT_EQ(lock.hold_count(dead), 1U);
  on_a_thread([&] {
    guard.emplace(lock);
    guarded = Owner::this_thread();
    lose(lock);
  });
  EXPECT_EQ(lock.hold_count(dead), 0U);
  lock.lock();
  EXPECT_EQ(lock.hold_count(guarded), 1U) << "the guard has yet to unlock it";
  EXPECT_EQ(guard->unlock(), Released::was_lost);
  EXPECT_EQ(lock.hold_count(guarded), 0U);
  lock.unlock();
}

// A name that nobody wants any more.
MORTISE_TEST(ThreadEnd, HasItsLossesForgottenInTime, Quality::leases, Hook::hand_clock) {
  take_the_clock();
  Client one = client();
  Lock lock = one.make_lock("name", losable());
  Owner dead;
  on_a_thread([&] {
    lock.lock();
    dead = Owner::this_thread();
    lose(lock);
  });
  EXPECT_TRUE(eventually([&] {
    clock().advance(10s);
    return lock.hold_count(dead) == 0;
  }));
}

}  // namespace
}  // namespace mortise::contract
