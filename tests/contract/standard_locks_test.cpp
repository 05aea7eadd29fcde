// SPDX-License-Identifier: MIT
// Goal: a Lock works wherever a std::recursive_timed_mutex does. Method: the standard's own guards
// and algorithms, over one lock and over several, with exceptions passing through.
#include "support/contract_suites.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

namespace mortise::contract {
namespace {

static_assert(std::is_nothrow_move_constructible_v<Lock>);
static_assert(std::is_nothrow_move_assignable_v<Lock>);
static_assert(!std::is_copy_constructible_v<Lock>);

/// @return whether nobody holds the name.
bool is_free(Client& client, const std::string& name) {
  Lock lock = client.make_lock(name);
  const bool free = lock.try_lock();
  if (free) lock.unlock();
  return free;
}

MORTISE_TEST(StandardLocks, LockGuardAndScopedLock) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  {
    const std::lock_guard hold(lock);
    EXPECT_FALSE(is_free(other, "name"));
    const std::scoped_lock again(lock);
    EXPECT_EQ(lock.hold_count(), 2U);
  }
  EXPECT_TRUE(is_free(other, "name"));
}

MORTISE_TEST(StandardLocks, UniqueLock) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  Lock elsewhere = other.make_lock("name");
  {
    std::unique_lock hold(lock);
    EXPECT_TRUE(hold.owns_lock());
    hold.unlock();
    EXPECT_TRUE(is_free(other, "name"));
    EXPECT_TRUE(hold.try_lock());
    hold.unlock();
    EXPECT_TRUE(hold.try_lock_for(1s));
    std::unique_lock moved = std::move(hold);
    EXPECT_FALSE(is_free(other, "name"));
    std::unique_lock refused(elsewhere, std::try_to_lock);
    EXPECT_FALSE(refused.owns_lock());
    // Long enough for the answer of a busy server. Without an answer, the try throws.
    std::unique_lock late(elsewhere, answer_time);
    EXPECT_FALSE(late.owns_lock());
    std::unique_lock later(elsewhere, std::chrono::steady_clock::now() + answer_time);
    EXPECT_FALSE(later.owns_lock());
    std::unique_lock deferred(elsewhere, std::defer_lock);
    EXPECT_FALSE(deferred.owns_lock());
  }
  EXPECT_TRUE(is_free(other, "name"));
  lock.lock();
  {
    const std::unique_lock adopted(lock, std::adopt_lock);
    EXPECT_TRUE(adopted.owns_lock());
  }
  EXPECT_TRUE(is_free(other, "name"));
}

MORTISE_TEST(StandardLocks, TimedLocksAcceptEveryClockAndUnit) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  Lock wanted = other.make_lock("name");
  using std::chrono::steady_clock;
  using std::chrono::system_clock;
  using Minutes = std::chrono::duration<double, std::ratio<60>>;
  // Connected first: under a sanitizer a handshake of TLS takes longer than all of these.
  wanted.lock();
  wanted.unlock();
  // Time enough for an answer: the shortest is that of twenty answers as they come now.
  const auto answer = duration_of([&] {
    wanted.lock();
    wanted.unlock();
  });
  const auto enough = static_cast<int>(20 * answer / 1500us);
  const int scale = ground().answers_at_once ? 1 : std::clamp(enough, 30, 400);
  for (const bool free : {true, false}) {
    if (!free) held.lock();
    const auto expect = [&](bool got) {
      EXPECT_EQ(got, free);
      if (got) wanted.unlock();
    };
    expect(wanted.try_lock_for(std::chrono::microseconds(1500 * scale)));
    expect(wanted.try_lock_for(Minutes(0.0001 * scale)));
    expect(wanted.try_lock_until(steady_clock::now() + 5ms * scale));
    expect(wanted.try_lock_until(system_clock::now() + 5ms * scale));
    expect(wanted.try_lock_until(BootClock::now() + 5ms * scale));
    std::error_code ec;
    expect(wanted.try_lock_until(system_clock::now() + 5ms * scale, ec));
    expect(wanted.try_lock_until(system_clock::now() - 1h));
    expect(wanted.try_lock_until(steady_clock::time_point(0s)));
    expect(wanted.try_lock_for(-1h));
  }
  held.unlock();
  EXPECT_TRUE(wanted.try_lock_for(std::chrono::hours::max()));
  EXPECT_TRUE(wanted.try_lock_for(Minutes(1e30)));
  EXPECT_TRUE(wanted.try_lock_until(steady_clock::time_point::max()));
  EXPECT_TRUE(wanted.try_lock_until(system_clock::time_point::max()));
  for (int i = 0; i < 4; ++i) wanted.unlock();
}

MORTISE_TEST(StandardLocks, TryLockUntilKeepsItsTime) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  Lock wanted = other.make_lock("name");
  wanted.lock();  // connected first, as above
  wanted.unlock();
  held.lock();
  const auto lateness = [&]() -> std::chrono::nanoseconds {
    const auto until = std::chrono::system_clock::now() + answer_time;
    EXPECT_FALSE(wanted.try_lock_until(until));
    const auto late = std::chrono::system_clock::now() - until;
    EXPECT_GE(late, 0ns) << "it gave up early";
    return late;
  };
  EXPECT_LE(best_of(10, allowance, lateness), allowance);
  held.unlock();
}

MORTISE_TEST(StandardLocks, SeveralAtOnceWithoutDeadlock) {
  // Two clients lock the same three names in opposite order, as fast as they can.
  Client one = client();
  Client other = client();
  std::atomic<int> inside{0};
  std::atomic<int> met{0};
  const auto work = [&](Client& mine, bool turned) {
    Lock a = mine.make_lock("a");
    Lock b = mine.make_lock("b");
    Lock c = mine.make_lock("c");
    for (int i = 0; i < 30; ++i) {
      std::optional<std::scoped_lock<Lock, Lock, Lock>> all;
      if (turned) {
        all.emplace(c, b, a);
      } else {
        all.emplace(a, b, c);
      }
      if (inside.fetch_add(1) != 0) met.fetch_add(1);
      inside.fetch_sub(1);
    }
  };
  {
    std::jthread first(work, std::ref(one), false);
    std::jthread second(work, std::ref(other), true);
    std::jthread third(work, std::ref(one), true);
  }
  EXPECT_EQ(met.load(), 0);
  for (const char* const name : {"a", "b", "c"}) EXPECT_TRUE(is_free(one, name));
}

MORTISE_TEST(StandardLocks, LockAndTryLockOfSeveral) {
  Client one = client();
  Client other = client();
  Lock a = one.make_lock("a");
  Lock b = one.make_lock("b");
  Lock rival = other.make_lock("b");
  rival.lock();
  EXPECT_EQ(std::try_lock(a, b), 1) << "the second one is held";
  EXPECT_EQ(a.hold_count(), 0U) << "the first one was not given back";
  rival.unlock();
  EXPECT_EQ(std::try_lock(a, b), -1);
  EXPECT_FALSE(is_free(other, "a"));
  a.unlock();
  b.unlock();
  std::lock(a, b);
  EXPECT_FALSE(is_free(other, "a"));
  EXPECT_FALSE(is_free(other, "b"));
  a.unlock();
  b.unlock();
}

MORTISE_TEST(StandardLocks, AnExceptionInACriticalSectionFreesTheLock) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  const auto fail = [&](auto take) {
    EXPECT_THROW(
        {
          const auto hold = take();
          static_cast<void>(hold);
          const std::lock_guard deeper(lock);
          throw std::runtime_error("in the critical section");
        },
        std::runtime_error);
    EXPECT_EQ(lock.hold_count(), 0U);
    EXPECT_TRUE(is_free(other, "name"));
  };
  fail([&] { return std::unique_lock(lock); });
  fail([&] { return Guard(lock); });
}

MORTISE_TEST(StandardLocks, AnExceptionWhileTheSecondOfTwoIsTakenFreesTheFirst, Quality::loss) {
  take_any_clock();
  Client one = client();
  Client other = client();
  Lock first = one.make_lock("first");
  Lock second = one.make_lock("second", losable());
  second.lock();
  lose(second);
  EXPECT_THROW(std::scoped_lock(first, second), Error) << "the second one was lost before";
  EXPECT_EQ(first.hold_count(), 0U);
  EXPECT_TRUE(is_free(other, "first"));
  second.unlock();
}

// What the library keeps for a thread may be gone by then.
MORTISE_TEST(StandardLocks, UnlockAsTheirThreadIsDestroyed) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  std::thread([&] {
    thread_local std::unique_lock<Lock> late;  // made first, so that it goes last
    late = std::unique_lock(lock);
  }).join();
  EXPECT_TRUE(is_free(other, "name"));
}

}  // namespace
}  // namespace mortise::contract
