// SPDX-License-Identifier: MIT
// Goal: what a thread reads as it ends, and nobody can unlock, ends as what it holds alone does:
// the name with its lease where it was the only reader, and its part where others go on. Method:
// threads that end while they hold, leases that can be waited out, and an observer.
#include "support/contract_readers.hpp"

#include <memory>
#include <optional>
#include <thread>

namespace mortise::contract {
namespace {

/// Has a thread do something, and end.
template <class Work>
void on_a_thread_that_reads(Work work) {
  std::thread(std::move(work)).join();
}

LockOptions reading_for(std::chrono::milliseconds lease) {
  return {.lease = lease, .mode = Mode::shared};
}

// Promise: L9
MORTISE_TEST(Sharing, AThreadThatEndsAsTheOnlyReaderLeavesTheName, Quality::shared) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  const LockOptions options = reading_for(short_lease() * 3);
  Lock lock = one.make_lock("name", options);
  Owner owner;
  Token token;
  std::stop_token lost;
  const auto began = std::chrono::steady_clock::now();
  on_a_thread_that_reads([&] {
    lock.lock();
    lock.lock();
    owner = Owner::this_thread();
    token = lock.token();
    lost = lock.lost();
  });
  Lock next = other.make_lock("name");
  const auto took =
      own_duration_of([&] { ASSERT_TRUE(taken_after(next, began + lease_of(options), patience)); });
  EXPECT_LT(took, lease_of(options) + margin_of(lease_of(options)) + fallback_period + allowance);
  EXPECT_GT(next.token(), token);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  ASSERT_TRUE(record->told(Record::Kind::lost, 1));
  const Record::Entry told = record->all(Record::Kind::lost)[0];
  EXPECT_EQ(told.token, token);
  EXPECT_NE(told.why.text.find("thread"), std::string::npos) << told.why.text;
  EXPECT_EQ(lock.hold_count(owner), 0U) << "nobody will ever unlock it";
  next.unlock();
  lock.lock();
  lock.unlock();
}

// Promise: L9
MORTISE_TEST(Sharing, AThreadThatEndsLeavesItsPartToNobody, Quality::shared) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  const LockOptions options = reading_for(short_lease() * 3);
  Lock lock = one.make_lock("name", options);
  lock.lock();
  Owner dead;
  std::stop_token lost;
  std::stop_token guard_lost;
  std::optional<Guard> guard;
  on_a_thread_that_reads([&] { guard.emplace(lock); });
  on_a_thread_that_reads([&] {
    lock.lock();
    lock.lock();
    dead = Owner::this_thread();
    lost = lock.lost();
  });
  EXPECT_EQ(lock.hold_count(dead), 2U);
  EXPECT_FALSE(lost.stop_requested());
  // Its lease is renewed for the others: what ends is its part, when the lease would have ended.
  const auto took =
      own_duration_of([&] { EXPECT_TRUE(eventually([&] { return lost.stop_requested(); })); });
  EXPECT_LT(took, lease_of(options) + margin_of(lease_of(options)) + allowance);
  EXPECT_EQ(lock.hold_count(dead), 0U);
  ASSERT_TRUE(record->told(Record::Kind::lost, 1));
  EXPECT_NE(record->all(Record::Kind::lost)[0].why.text.find("thread"), std::string::npos);
  std::this_thread::sleep_for(lease_of(options));
  EXPECT_EQ(record->count(Record::Kind::lost), 1U) << "others lost what they can unlock";
  EXPECT_GT(lock.valid_for(), 0ns);
  EXPECT_GT(guard->valid_for(), 0ns);
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_FALSE(guard->lost().stop_requested());
  EXPECT_FALSE(writable(other));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_FALSE(writable(other)) << "the guard outlives its thread";
  EXPECT_EQ(guard->unlock(), Released::released);
  EXPECT_TRUE(writable(other)) << "the dead one kept it";
}

// Promise: L9
MORTISE_TEST(Sharing, WhoReadsOnWithAThreadThatEndedMayGoFirst, Quality::shared) {
  Client one = client();
  Client other = client();
  const LockOptions options = reading_for(short_lease() * 3);
  Lock lock = one.make_lock("name", options);
  lock.lock();
  const auto began = std::chrono::steady_clock::now();
  on_a_thread_that_reads([&] { lock.lock(); });
  EXPECT_EQ(lock.release(), Released::released);
  Lock next = other.make_lock("name");
  const auto took =
      own_duration_of([&] { ASSERT_TRUE(taken_after(next, began + lease_of(options), patience)); });
  EXPECT_LT(took, lease_of(options) + margin_of(lease_of(options)) + fallback_period + allowance);
  next.unlock();
}

// What is left then is nobody's, and the server keeps it for as long as it was renewed.
MORTISE_TEST(Sharing, ThePartThatIsLeftEndsInItsOwnTime, Quality::shared, Quality::leases,
             Hook::hand_clock) {
  take_the_clock();
  Client one = client({.turn = 10min});
  Client other = client();
  Lock lock = one.make_lock("name", reading_for(30s));
  lock.lock();
  Owner dead;
  on_a_thread_that_reads([&] {
    lock.lock();
    dead = Owner::this_thread();
  });
  for (int i = 0; i < 2; ++i) {
    clock().advance(10s);  // the first finds it, and it is renewed each time
    ASSERT_TRUE(eventually([&] { return lock.valid_for() > 25s; }));
  }
  EXPECT_EQ(lock.hold_count(dead), 1U);
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_FALSE(writable(other));
  clock().advance(10s);  // 30 s after the last renewal before the look
  EXPECT_TRUE(eventually([&] { return lock.hold_count(dead) == 0; }));
  EXPECT_TRUE(eventually([&] { return writable(other); })) << "it was renewed for another one";
}

MORTISE_TEST(Sharing, EachThreadThatEndedLosesItsPart, Quality::shared, Quality::leases,
             Hook::hand_clock) {
  take_the_clock();
  const auto record = std::make_shared<Record>();
  Client one = client({.turn = 10min, .observer = record});
  Lock lock = one.make_lock("name", reading_for(30s));
  lock.lock();
  for (int i = 0; i < 3; ++i) on_a_thread_that_reads([&] { lock.lock(); });
  for (int i = 0; i < 4; ++i) {
    clock().advance(10s);
    ASSERT_TRUE(eventually([&] { return lock.valid_for() > 25s; }));
  }
  EXPECT_TRUE(record->told(Record::Kind::lost, 3));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(record->count(Record::Kind::lost), 3U);
}

MORTISE_TEST(Sharing, DoesNotTouchAReadersGuardThatIsElsewhere, Quality::shared) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  const LockOptions options = reading_for(renewed_lease());
  Lock lock = one.make_lock("name", options);
  std::optional<Guard> guard;
  Owner owner;
  on_a_thread_that_reads([&] {
    guard.emplace(lock);
    lock.lock();
    owner = Owner::this_thread();
  });
  Lock next = other.make_lock("name");
  // For longer than its lease, where it has one.
  EXPECT_TRUE(!leases() || record->told(Record::Kind::renewed, 4));
  EXPECT_FALSE(next.try_lock());
  EXPECT_EQ(lock.hold_count(owner), 2U);
  EXPECT_EQ(record->count(Record::Kind::lost), 0U);
  EXPECT_EQ(guard->unlock(), Released::released);
  EXPECT_TRUE(next.try_lock_for(lease_of(options) + fallback_period + patience));
  next.unlock();
}

MORTISE_TEST(Sharing, ALossThatNobodyCanUnlockIsForgotten, Quality::shared, Quality::loss) {
  take_any_clock();
  Client one = client();
  LockOptions options = losable();
  options.mode = Mode::shared;
  Lock lock = one.make_lock("name", options);
  Owner dead;
  std::optional<Guard> guard;
  Owner guarded;
  on_a_thread_that_reads([&] {
    lock.lock();
    dead = Owner::this_thread();
    lose(lock);
  });
  EXPECT_EQ(lock.hold_count(dead), 1U);
  on_a_thread_that_reads([&] {
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

}  // namespace
}  // namespace mortise::contract
