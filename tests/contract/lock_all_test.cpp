// SPDX-License-Identifier: MIT
// Goal: several locks are taken as one: all or none, within one time limit, by whichever owner, of
// whichever clients, and opposed callers neither deadlock nor go on for ever. Method: hold some of
// them, and look from outside at what is left of the others.
#include <mortise/memory.hpp>

#include "support/contract_several.hpp"

#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace mortise::contract {
namespace {

static_assert(std::is_nothrow_move_constructible_v<Several>);
static_assert(std::is_nothrow_move_assignable_v<Several>);
static_assert(!std::is_copy_constructible_v<Several>);
static_assert(std::is_nothrow_destructible_v<Several>);

MORTISE_TEST(LockAll, TakesAllAndFreesAll) {
  Client one = client();
  Client other = client();
  Lock a = one.make_lock("a");
  Lock b = one.make_lock("b");
  Lock c = one.make_lock("c");
  {
    const Several all = lock_all({b, c, a});
    ASSERT_TRUE(all);
    EXPECT_EQ(all.size(), 3U);
    EXPECT_FALSE(all.error());
    EXPECT_TRUE(all.error_text().empty());
    EXPECT_TRUE(all.failed_name().empty());
    EXPECT_FALSE(all.holder().has_value());
    EXPECT_EQ(all.owner(), Owner::this_thread());
    EXPECT_GT(all.valid_for(), 0ns);
    for (const Lock* const lock : {&a, &b, &c}) {
      EXPECT_EQ(lock->hold_count(), 1U);
      EXPECT_TRUE(lock->token());
      EXPECT_FALSE(is_free_for(other, lock->name()));
    }
  }
  for (const Lock* const lock : {&a, &b, &c}) {
    EXPECT_EQ(lock->hold_count(), 0U);
    EXPECT_TRUE(is_free_for(other, lock->name()));
  }
}

MORTISE_TEST(LockAll, TakesARangeOrTemporariesOrNames) {
  Client one = client();
  Client other = client();
  const auto expect_both = [&](const Several& all) {
    ASSERT_TRUE(all) << all.error_text();
    EXPECT_EQ(all.size(), 2U);
    EXPECT_FALSE(is_free_for(other, "a") || is_free_for(other, "b"));
  };
  std::vector<Lock> locks = locks_of(one, {"b", "a"});
  const std::vector<std::string> names{"b", "a"};
  expect_both(lock_all(locks, {.wait = patience}));
  std::array<Lock, 2> pair{one.make_lock("a"), one.make_lock("b")};
  expect_both(lock_all(pair));
  expect_both(lock_all(locks_of(one, names)));
  expect_both(lock_all({one.make_lock("a"), locks.front()}));
  expect_both(lock_all(one, {"a", "b"}, {.wait = patience}));
  expect_both(lock_all(one, names));
  std::error_code ec;
  expect_both(lock_all(one, names, {.wait = patience}, ec));
  EXPECT_FALSE(ec);
  EXPECT_TRUE(is_free_for(other, "a") && is_free_for(other, "b"));
}

MORTISE_TEST(LockAll, OfNamesTakesTheOptionsOfEachLock, Quality::holders) {
  Client one = client();
  std::error_code ec;
  const Several wrong = lock_all(one, {"a", ""}, {.wait = 0s}, ec);
  EXPECT_FALSE(wrong);
  EXPECT_EQ(ec, Errc::misconfigured);
  EXPECT_EQ(wrong.error(), ec);
  EXPECT_THROW(static_cast<void>(lock_all(one, {"a"}, {}, {.lease = 1ms})), Error);
  const Several all = lock_all(one, {"a"}, {.wait = patience}, {.label = "all of them"});
  ASSERT_TRUE(all);
  EXPECT_EQ(one.make_lock("a").holder()->label, "all of them");
  const Several busy = lock_all(one, {"a", "b"}, {.wait = 0s, .owner = Owner::unique()}, ec);
  EXPECT_EQ(ec, Errc::timeout);
  EXPECT_EQ(busy.failed_name(), "a");
}

// Promise: S2
MORTISE_TEST(LockAll, HasATokenForEachName) {
  Client one = client();
  Token last;
  for (int i = 0; i < 2; ++i) {
    Several all = lock_all(one, {"b", "a", "b"}, {.owner = Owner::unique()});
    ASSERT_TRUE(all);
    EXPECT_GT(all.token("a"), last);
    last = all.token("a");
    const std::vector<GuardedHold> holds = all.holds();
    ASSERT_EQ(holds.size(), 2U) << "b is one hold";
    EXPECT_EQ(holds[0].name, "a");
    EXPECT_EQ(holds[0].token, all.token("a"));
    EXPECT_EQ(holds[1].name, "b");
    EXPECT_EQ(holds[1].token, all.token("b"));
    EXPECT_EQ(holds[0].store.words, Guard(one, "c").store().words);
    try {
      static_cast<void>(all.token("c"));
      ADD_FAILURE() << "a name that was not locked has a token";
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::misconfigured);
      EXPECT_NE(std::string(error.what()).find("name c"), std::string::npos) << error.what();
    }
    all.unlock();
    EXPECT_EQ(all.token("a"), Token());
    EXPECT_TRUE(all.holds().empty());
  }
}

MORTISE_TEST(LockAll, OfNoneIsSuccess) {
  Several none = lock_all({});
  EXPECT_TRUE(none);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(none.valid_for(), std::chrono::nanoseconds::max());
  EXPECT_EQ(none.unlock(), Released::released);
  EXPECT_FALSE(none);
  std::error_code ec = Errc::protocol;
  EXPECT_TRUE(lock_all(SeveralLocks(), {.wait = 0s}, ec));
  EXPECT_FALSE(ec);
}

// Promise: N1
MORTISE_TEST(LockAll, HoldsNoneWhereOneIsBusy) {
  Client one = client();
  Client other = client();
  Client third = client();
  for (const char* const busy : {"a", "b", "c"}) {
    Lock held = other.make_lock(busy, {.label = "who has it"});
    ASSERT_TRUE(held.try_lock_for(patience));
    std::vector<Lock> wanted = locks_of(one, {"a", "b", "c"});
    for (const std::chrono::nanoseconds wait : {0ns, std::chrono::nanoseconds(answer_time)}) {
      std::error_code ec;
      const Several none = lock_all(all_of(wanted), {.wait = wait}, ec);
      EXPECT_FALSE(none);
      EXPECT_EQ(ec, Errc::timeout);
      EXPECT_EQ(none.error(), Errc::timeout);
      EXPECT_EQ(none.failed_name(), busy);
      EXPECT_EQ(none.error_text().find(busy), 0U) << none.error_text();
      EXPECT_EQ(none.size(), 0U);
      EXPECT_EQ(none.valid_for(), 0ns);
      if (none.holder()) {
        EXPECT_EQ(none.holder()->label, "who has it");
      }
      for (const Lock& lock : wanted) {
        EXPECT_EQ(lock.hold_count(), 0U);
        // What had to be given back after the time was up, the store may free a moment later.
        EXPECT_TRUE(lock.name() == busy ||
                    eventually([&] { return is_free_for(third, lock.name()); }))
            << lock.name();
      }
    }
    EXPECT_FALSE(lock_all(all_of(wanted), {.wait = 0s})) << "contention was thrown";
    held.unlock();
  }
}

// Promise: N2
MORTISE_TEST(LockAll, GoesByTheNamesWhateverTheOrderOfTheArguments) {
  Client one = client();
  Client other = client();
  std::vector<Lock> held = locks_of(other, {"a", "b", "c"});
  for (Lock& lock : held) lock.lock();
  Lock a = one.make_lock("a");
  Lock b = one.make_lock("b");
  Lock c = one.make_lock("c");
  EXPECT_EQ(lock_all({c, b, a}, {.wait = 0s}).failed_name(), "a");
  EXPECT_EQ(lock_all({b, a, c}, {.wait = answer_time}).failed_name(), "a");
  held[0].unlock();
  EXPECT_EQ(lock_all({c, a, b}, {.wait = answer_time}).failed_name(), "b");
  held[1].unlock();
  held[2].unlock();
}

MORTISE_TEST(LockAll, ByAnotherThreadOfTheClientIsBusyToo) {
  Client one = client();
  Client other = client();
  std::vector<Lock> wanted = locks_of(one, {"a", "b"}, {.label = "myself"});
  Worker thread;
  thread.run([&] { wanted[1].lock(); });
  std::error_code ec;
  const Several none = lock_all(all_of(wanted), {.wait = answer_time}, ec);
  EXPECT_EQ(ec, Errc::timeout);
  EXPECT_EQ(none.failed_name(), "b");
  ASSERT_TRUE(none.holder());
  EXPECT_EQ(none.holder()->label, "myself");
  EXPECT_TRUE(is_free_for(other, "a"));
  thread.run([&] { wanted[1].unlock(); });
  EXPECT_TRUE(lock_all(all_of(wanted), {.wait = patience}));
}

// Promise: N1
MORTISE_TEST(LockAll, HoldsNoneWhileItWaits) {
  Party one = party();
  Client other = client();
  Lock held = other.make_lock("b");
  held.lock();
  std::vector<Lock> wanted = locks_of(one.client, {"a", "b", "c"});
  Worker waiter;
  auto done = waiter.start([&] {
    const Several all = lock_all(all_of(wanted), {.wait = patience});
    return static_cast<bool>(all);
  });
  ASSERT_TRUE(eventually([&] { return one.probe->counts().releases == 2; }));
  ASSERT_TRUE(waiter.falls_asleep());
  for (const char* const name : {"a", "c"}) {
    EXPECT_TRUE(eventually([&] { return is_free_for(other, name); })) << name;
  }
  held.unlock();
  EXPECT_TRUE(done.get());
  for (const Lock& lock : wanted) EXPECT_TRUE(is_free_for(other, lock.name()));
}

MORTISE_TEST(LockAll, HoldsForItsOwner) {
  Client one = client();
  std::vector<Lock> wanted = locks_of(one, {"a", "b"});
  const Owner task = Owner::unique();
  Several all = lock_all(all_of(wanted), {.owner = task});
  ASSERT_TRUE(all);
  EXPECT_EQ(all.owner(), task);
  for (const Lock& lock : wanted) {
    EXPECT_EQ(lock.hold_count(), 0U);
    EXPECT_EQ(lock.hold_count(task), 1U);
    EXPECT_TRUE(lock.token(task));
  }
  Worker thread;
  const auto moved = std::make_shared<Several>(std::move(all));
  EXPECT_EQ(thread.run([moved] { return moved->unlock(); }), Released::released);
  for (const Lock& lock : wanted) EXPECT_EQ(lock.hold_count(task), 0U);
}

// Promise: S7
MORTISE_TEST(LockAll, ReentersWhatTheOwnerHolds) {
  Client one = client();
  Client other = client();
  Lock a = one.make_lock("a");
  Lock b = one.make_lock("b");
  b.lock();
  {
    const Several all = lock_all({a, b}, {.wait = 0s});
    ASSERT_TRUE(all);
    EXPECT_EQ(b.hold_count(), 2U);
  }
  EXPECT_EQ(b.hold_count(), 1U);
  EXPECT_TRUE(is_free_for(other, "a"));
  EXPECT_FALSE(is_free_for(other, "b"));
  // What it re-entered in vain it leaves, too.
  Lock rival = other.make_lock("a");
  rival.lock();
  EXPECT_FALSE(lock_all({a, b}, {.wait = 0s}));
  EXPECT_EQ(b.hold_count(), 1U);
  rival.unlock();
  b.unlock();
}

// Promise: S7
MORTISE_TEST(LockAll, OfTheSameLockTwiceReenters) {
  Client one = client();
  Client other = client();
  Lock a = one.make_lock("a");
  Lock again = one.make_lock("a");
  Lock b = one.make_lock("b");
  {
    const Several all = lock_all({a, b, again, a}, {.wait = 0s});
    ASSERT_TRUE(all);
    EXPECT_EQ(all.size(), 4U);
    EXPECT_EQ(a.hold_count(), 3U);
    EXPECT_EQ(b.hold_count(), 1U);
  }
  EXPECT_EQ(a.hold_count(), 0U);
  EXPECT_TRUE(is_free_for(other, "a"));
  EXPECT_TRUE(is_free_for(other, "b"));
}

MORTISE_TEST(LockAll, OfDifferentClientsAndBackends) {
  Client one = client();
  Client two = client();
  Client other = client();
  memory::Server server;
  Client elsewhere(server.backend());
  Client stranger(server.backend());
  Lock a = one.make_lock("a");
  Lock b = two.make_lock("b");
  Lock same_name = elsewhere.make_lock("a");
  Lock c = elsewhere.make_lock("c");
  {
    const Several all = lock_all({c, same_name, b, a}, {.wait = patience});
    ASSERT_TRUE(all);
    EXPECT_FALSE(is_free_for(other, "a"));
    EXPECT_FALSE(is_free_for(other, "b"));
    EXPECT_FALSE(is_free_for(stranger, "a"));
    EXPECT_FALSE(is_free_for(stranger, "c"));
  }
  Lock rival = stranger.make_lock("c");
  rival.lock();
  std::error_code ec;
  EXPECT_EQ(lock_all({c, same_name, b, a}, {.wait = answer_time}, ec).failed_name(), "c");
  EXPECT_EQ(ec, Errc::timeout);
  EXPECT_TRUE(is_free_for(other, "a"));
  EXPECT_TRUE(is_free_for(other, "b"));
  EXPECT_TRUE(is_free_for(stranger, "a"));
  rival.unlock();
}

MORTISE_TEST(LockAll, MovesItsHolds) {
  Client one = client();
  Client other = client();
  std::vector<Lock> first = locks_of(one, {"a", "b"});
  std::vector<Lock> second = locks_of(one, {"c", "d"});
  Several guards = lock_all(all_of(first));
  {
    Several moved = std::move(guards);
    EXPECT_FALSE(guards);
    EXPECT_EQ(guards.size(), 0U);
    EXPECT_EQ(guards.unlock(), Released::was_lost);
    EXPECT_TRUE(moved);
    EXPECT_FALSE(is_free_for(other, "a"));
    guards = std::move(moved);
    EXPECT_TRUE(guards);
    EXPECT_FALSE(moved);
  }
  EXPECT_FALSE(is_free_for(other, "b")) << "what was moved from freed the holds";
  Several& itself = guards;
  guards = std::move(itself);
  EXPECT_TRUE(guards);
  Several replaced = lock_all(all_of(second));
  replaced = std::move(guards);
  EXPECT_TRUE(is_free_for(other, "c")) << "what it held before is freed";
  EXPECT_FALSE(is_free_for(other, "a"));
  replaced = Several();
  EXPECT_TRUE(is_free_for(other, "a"));
  EXPECT_FALSE(replaced);
}

MORTISE_TEST(LockAll, ReleasesOnce) {
  Client one = client();
  std::vector<Lock> wanted = locks_of(one, {"a", "b"});
  Several guards = lock_all(all_of(wanted));
  EXPECT_EQ(guards.unlock(), Released::released);
  EXPECT_FALSE(guards);
  EXPECT_FALSE(guards.error()) << "it did hold";
  EXPECT_EQ(guards.unlock(), Released::was_lost) << "nothing is left to release";
  guards = lock_all(all_of(wanted));
  wanted[0].unlock();
  EXPECT_EQ(guards.unlock(), Released::was_lost) << "one was unlocked behind it";
  EXPECT_EQ(wanted[1].hold_count(), 0U);
  guards = lock_all(all_of(wanted));
  guards.unlock();
  EXPECT_FALSE(guards);
}

MORTISE_TEST(LockAll, OutlivesItsHandles) {
  Client one = client();
  Client other = client();
  Several guards;
  {
    std::vector<Lock> wanted = locks_of(one, {"a", "b"});
    guards = lock_all(all_of(wanted));
  }
  EXPECT_FALSE(is_free_for(other, "a"));
  EXPECT_EQ(guards.unlock(), Released::released);
  EXPECT_TRUE(is_free_for(other, "a"));
  EXPECT_TRUE(is_free_for(other, "b"));
}

MORTISE_TEST(LockAll, TellsTheObserverOfItsOutcomeOnly) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  std::vector<Lock> wanted = locks_of(one, {"a", "b"});
  Lock held = other.make_lock("b");
  held.lock();
  EXPECT_FALSE(lock_all(all_of(wanted), {.wait = 0s}));
  EXPECT_EQ(record->count(Record::Kind::contended), 1U);
  EXPECT_FALSE(lock_all(all_of(wanted), {.wait = answer_time}));
  EXPECT_EQ(record->count(Record::Kind::contended), 2U);
  EXPECT_EQ(record->all(Record::Kind::contended).back().name, "b");
  held.unlock();
  EXPECT_TRUE(lock_all(all_of(wanted)));
  EXPECT_EQ(record->count(Record::Kind::contended), 2U);
  EXPECT_EQ(record->count(Record::Kind::granted), record->count(Record::Kind::released));
}

}  // namespace
}  // namespace mortise::contract
