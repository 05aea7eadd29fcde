// SPDX-License-Identifier: MIT
// Goal: a ReadWriteLock works wherever a std::shared_timed_mutex does. Method: written as a new
// user writes it, with the standard's own guards, and the standard's requirements as the compiler
// sees them.
#include "support/contract_suites.hpp"

#include <chrono>
#include <concepts>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <type_traits>
#include <utility>

namespace mortise::contract {
namespace {

// [thread.req.lockable] and [thread.sharedtimedmutex.requirements]
template <class L>
concept Lockable = requires(L& lock) {
  { lock.lock() } -> std::same_as<void>;
  { lock.unlock() } -> std::same_as<void>;
  { lock.try_lock() } -> std::same_as<bool>;
};
template <class L>
concept TimedLockable = Lockable<L> && requires(L& lock) {
  { lock.try_lock_for(std::chrono::seconds(1)) } -> std::same_as<bool>;
  { lock.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
};
template <class L>
concept SharedLockable = requires(L& lock) {
  { lock.lock_shared() } -> std::same_as<void>;
  { lock.unlock_shared() } -> std::same_as<void>;
  { lock.try_lock_shared() } -> std::same_as<bool>;
};
template <class L>
concept SharedTimedLockable = SharedLockable<L> && requires(L& lock) {
  { lock.try_lock_shared_for(std::chrono::seconds(1)) } -> std::same_as<bool>;
  { lock.try_lock_shared_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
};

static_assert(Lockable<ReadWriteLock> && TimedLockable<ReadWriteLock>);
static_assert(SharedLockable<ReadWriteLock> && SharedTimedLockable<ReadWriteLock>);
static_assert(std::is_nothrow_move_constructible_v<ReadWriteLock>);
static_assert(std::is_nothrow_move_assignable_v<ReadWriteLock>);
static_assert(!std::is_copy_constructible_v<ReadWriteLock>);
static_assert(!std::is_default_constructible_v<ReadWriteLock>);

MORTISE_TEST(StandardShared, AMapIsReadByManyAndWrittenByOne, Quality::shared) {
  Client here = client();
  Client there = client();
  ReadWriteLock catalog = here.make_read_write_lock("catalog");
  ReadWriteLock same = there.make_read_write_lock("catalog");
  EXPECT_EQ(catalog.name(), "catalog");
  {
    const std::shared_lock read(catalog);
    const std::shared_lock too(same);
    EXPECT_TRUE(too.owns_lock());
    Worker writer;
    EXPECT_FALSE(writer.run([&] { return std::unique_lock(same, std::try_to_lock).owns_lock(); }));
  }
  {
    const std::unique_lock write(catalog);
    EXPECT_FALSE(std::shared_lock(same, std::try_to_lock).owns_lock());
    EXPECT_FALSE(std::shared_lock(same, answer_time).owns_lock());
    EXPECT_FALSE(std::shared_lock(same, std::chrono::steady_clock::now() + answer_time));
  }
  std::shared_lock read(same, std::defer_lock);
  EXPECT_TRUE(read.try_lock());
  read.unlock();
  EXPECT_TRUE(read.try_lock_for(patience));
  read.unlock();
  EXPECT_TRUE(read.try_lock_until(std::chrono::steady_clock::now() + patience));
  const std::shared_lock moved = std::move(read);
  EXPECT_TRUE(moved.owns_lock());
  EXPECT_EQ(same.reader().hold_count(), 1U);
}

MORTISE_TEST(StandardShared, SeveralAtOnce, Quality::shared) {
  Client here = client();
  Client there = client();
  ReadWriteLock a = here.make_read_write_lock("a");
  ReadWriteLock b = here.make_read_write_lock("b");
  Lock plain = there.make_lock("a");
  {
    const std::scoped_lock both(a, b);
    EXPECT_FALSE(plain.try_lock()) << "a writer and a plain lock are the same";
  }
  {
    std::shared_lock read_a(a, std::defer_lock);
    std::unique_lock write_b(b, std::defer_lock);
    std::lock(read_a, write_b);
    EXPECT_TRUE(read_a.owns_lock());
    EXPECT_TRUE(write_b.owns_lock());
    EXPECT_FALSE(plain.try_lock());
  }
  EXPECT_TRUE(plain.try_lock());
  plain.unlock();
}

MORTISE_TEST(StandardShared, AReaderWaitsForACondition, Quality::shared) {
  Client here = client();
  ReadWriteLock lock = here.make_read_write_lock("name");
  std::condition_variable_any changed;
  int value = 0;
  Worker reader;
  auto seen = reader.start([&] {
    std::shared_lock read(lock);
    return changed.wait_for(read, patience, [&] { return value == 1; });
  });
  ASSERT_TRUE(reader.falls_asleep());
  {
    const std::scoped_lock write(lock);
    value = 1;
  }
  changed.notify_all();
  EXPECT_TRUE(seen.get());
  EXPECT_TRUE(lock.try_lock()) << "it is read still";
  lock.unlock();
}

MORTISE_TEST(StandardShared, WithoutExceptions, Quality::shared) {
  Client here = client();
  Client there = client();
  ReadWriteLock lock = here.make_read_write_lock("name");
  ReadWriteLock other = there.make_read_write_lock("name");
  std::error_code ec = Errc::protocol;
  lock.lock_shared(ec);
  EXPECT_FALSE(ec);
  EXPECT_TRUE(other.try_lock_shared(ec));
  EXPECT_TRUE(other.try_lock_shared_for(patience, ec));
  EXPECT_TRUE(other.try_lock_shared_until(std::chrono::system_clock::now() + patience, ec));
  for (int i = 0; i < 3; ++i) other.unlock_shared(ec);
  EXPECT_FALSE(ec);
  other.unlock_shared(ec);
  EXPECT_EQ(ec, Errc::not_owner);
  EXPECT_FALSE(other.try_lock(ec));
  EXPECT_FALSE(ec) << "contention is no error";
  EXPECT_FALSE(other.try_lock_for(answer_time, ec));
  EXPECT_FALSE(other.try_lock_until(std::chrono::steady_clock::now() + answer_time, ec));
  EXPECT_FALSE(ec);
  lock.unlock_shared();
  other.lock(ec);
  EXPECT_FALSE(ec);
  other.unlock(ec);
  EXPECT_FALSE(ec);
}

MORTISE_TEST(StandardShared, AGuardAnOwnerAndAStopToken, Quality::shared) {
  Client here = client();
  Client there = client();
  ReadWriteLock lock = here.make_read_write_lock("name");
  ReadWriteLock other = there.make_read_write_lock("name");
  Guard first(lock.reader());
  Guard second(lock.reader(), {.owner = Owner::unique()});
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(first.token(), second.token());
  EXPECT_GT(second.valid_for(), 0ns);
  EXPECT_TRUE(second.lost().stop_possible());
  EXPECT_EQ(lock.reader().hold_count(), 1U) << "of this thread";
  EXPECT_EQ(lock.reader().hold_count(second.owner()), 1U);
  EXPECT_FALSE(other.try_lock());
  Guard moved = std::move(first);
  EXPECT_EQ(moved.unlock(), Released::released);
  EXPECT_FALSE(other.try_lock());
  EXPECT_EQ(second.unlock(), Released::released);
  EXPECT_TRUE(other.try_lock());
  std::stop_source stop;
  stop.request_stop();
  const Guard stopped(lock.reader(), {.stop = stop.get_token()});
  EXPECT_EQ(stopped.error(), Errc::cancelled);
  other.unlock();
  const Guard writes(lock.writer());
  EXPECT_TRUE(writes);
}

}  // namespace
}  // namespace mortise::contract
