// SPDX-License-Identifier: MIT
// Goal: guards and handles can be moved, handed to other threads and destroyed in any order, and
// the hold is freed once; owners are who they say. Method: do that, and look at the lock from
// outside.
#include "support/contract_suites.hpp"

#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

namespace mortise::contract {
namespace {

static_assert(std::is_nothrow_move_constructible_v<Guard>);
static_assert(std::is_nothrow_move_assignable_v<Guard>);
static_assert(!std::is_copy_constructible_v<Guard>);
static_assert(std::is_nothrow_destructible_v<Guard>);

bool nobody_holds(Client& client, const std::string& name) {
  Lock lock = client.make_lock(name);
  const bool free = lock.try_lock();
  if (free) lock.unlock();
  return free;
}

MORTISE_TEST(Guards, HoldFromConstructionToDestruction) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  {
    const Guard guard(lock);
    ASSERT_TRUE(guard);
    EXPECT_FALSE(guard.error());
    EXPECT_TRUE(guard.error_text().empty());
    EXPECT_EQ(guard.token(), lock.token());
    EXPECT_GT(guard.valid_for(), 0ns);
    EXPECT_TRUE(guard.lost().stop_possible());
    EXPECT_FALSE(guard.holder().has_value());
    EXPECT_EQ(guard.owner(), Owner::this_thread());
    EXPECT_FALSE(nobody_holds(other, "name"));
    const Guard deeper(lock);
    EXPECT_EQ(deeper.token(), guard.token());
    EXPECT_EQ(lock.hold_count(), 2U);
  }
  EXPECT_TRUE(nobody_holds(other, "name"));
}

MORTISE_TEST(Guards, ReleaseOnce) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  Guard guard(lock);
  EXPECT_EQ(guard.unlock(), Released::released);
  EXPECT_TRUE(nobody_holds(other, "name"));
  EXPECT_FALSE(guard);
  EXPECT_FALSE(guard.token());
  EXPECT_FALSE(guard.error()) << "it did hold";
  EXPECT_EQ(guard.valid_for(), 0ns);
  EXPECT_EQ(guard.unlock(), Released::was_lost) << "nothing is left to release";
  Lock rival = other.make_lock("name");
  rival.lock();
  EXPECT_EQ(guard.unlock(), Released::was_lost);
  EXPECT_EQ(rival.release(), Released::released);
}

MORTISE_TEST(Guards, AreEmptyByDefault) {
  Guard guard;
  EXPECT_FALSE(guard);
  EXPECT_FALSE(guard.token());
  EXPECT_EQ(guard.valid_for(), 0ns);
  EXPECT_FALSE(guard.error());
  EXPECT_FALSE(guard.lost().stop_possible());
  EXPECT_EQ(guard.unlock(), Released::was_lost);
  const Guard moved = std::move(guard);
  EXPECT_FALSE(moved);
}

MORTISE_TEST(Guards, MoveTheirHold) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  Guard guard(lock);
  const Token token = guard.token();
  {
    Guard moved = std::move(guard);
    EXPECT_FALSE(guard);
    EXPECT_FALSE(guard.token());
    EXPECT_TRUE(moved);
    EXPECT_EQ(moved.token(), token);
    EXPECT_FALSE(nobody_holds(other, "name"));
    guard = std::move(moved);
    EXPECT_TRUE(guard);
    EXPECT_FALSE(moved);
  }
  EXPECT_FALSE(nobody_holds(other, "name")) << "a guard that was moved from freed the hold";
  Guard& itself = guard;
  guard = std::move(itself);
  EXPECT_TRUE(guard);
  Lock second = one.make_lock("second");
  Guard replaced(second);
  replaced = std::move(guard);
  EXPECT_TRUE(nobody_holds(other, "second")) << "what it held before is freed";
  EXPECT_FALSE(nobody_holds(other, "name"));
  replaced = Guard();
  EXPECT_TRUE(nobody_holds(other, "name"));
}

MORTISE_TEST(Guards, FreeTheirHoldOnWhicheverThread) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  Guard guard(lock);
  Worker thread;
  EXPECT_EQ(
      thread.run([moved = std::make_shared<Guard>(std::move(guard))] { return moved->unlock(); }),
      Released::released);
  EXPECT_TRUE(nobody_holds(other, "name"));
  EXPECT_EQ(lock.hold_count(), 0U);
  {
    std::optional<Guard> made_there;
    thread.run([&] { made_there.emplace(lock); });
    EXPECT_FALSE(nobody_holds(other, "name"));
    EXPECT_EQ(lock.hold_count(), 0U) << "the other thread is the owner";
    made_there.reset();
  }
  EXPECT_TRUE(nobody_holds(other, "name"));
}

MORTISE_TEST(Guards, OutliveTheirHandle) {
  Client one = client();
  Client other = client();
  Guard guard;
  {
    Lock lock = one.make_lock("name");
    guard = Guard(lock);
  }
  EXPECT_FALSE(nobody_holds(other, "name"));
  EXPECT_EQ(guard.unlock(), Released::released);
  EXPECT_TRUE(nobody_holds(other, "name"));
}

MORTISE_TEST(Guards, WhoseHoldWasUnlockedBehindThemFreeNothingElse) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  Lock rival = other.make_lock("name");
  {
    const Guard guard(lock);
    lock.unlock();
    rival.lock();
  }
  EXPECT_FALSE(lock.try_lock()) << "the guard freed a hold that was not its own";
  rival.unlock();
}

MORTISE_TEST(Guards, HandlesMoveWithoutTheHold) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  lock.lock();
  Lock moved = std::move(lock);
  EXPECT_EQ(moved.name(), "name");
  EXPECT_EQ(moved.hold_count(), 1U);
  Lock target = one.make_lock("other name");
  target = std::move(moved);
  EXPECT_EQ(target.name(), "name");
  EXPECT_EQ(target.hold_count(), 1U);
  EXPECT_FALSE(nobody_holds(other, "name"));
  target.unlock();
  EXPECT_TRUE(nobody_holds(other, "name"));
}

MORTISE_TEST(Guards, AnOwnerIsHandedFromThreadToThread) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  const Owner task = Owner::unique();
  ASSERT_TRUE(lock.acquire({.owner = task}));
  const Token token = lock.token(task);
  for (int step = 0; step < 3; ++step) {
    Worker thread;
    thread.run([&] {
      EXPECT_EQ(lock.token(task), token);
      EXPECT_GT(lock.valid_for(task), 0ns);
      EXPECT_TRUE(lock.acquire({.owner = task}));
      EXPECT_EQ(lock.release(task), Released::released);
      EXPECT_EQ(lock.hold_count(), 0U);
    });
  }
  EXPECT_FALSE(nobody_holds(other, "name"));
  EXPECT_EQ(lock.release(task), Released::released);
  EXPECT_TRUE(nobody_holds(other, "name"));
}

MORTISE_TEST(Guards, OwnersAreNeverUsedAgain) {
  EXPECT_EQ(Owner::this_thread(), Owner::this_thread());
  EXPECT_EQ(Owner().or_this_thread(), Owner::this_thread());
  EXPECT_NE(Owner::unique(), Owner::unique());
  EXPECT_NE(Owner::unique(), Owner::this_thread());
  Owner first;
  Owner second;
  // The second thread is likely to get the first one's thread id, stack and all.
  std::thread([&] { first = Owner::this_thread(); }).join();
  std::thread([&] { second = Owner::this_thread(); }).join();
  EXPECT_NE(first, second);
}

MORTISE_TEST(Guards, AThreadThatEndsWhileItHoldsHasNoSuccessor) {
  auto one = std::make_unique<Client>(client());
  Client other = client();
  Token token;
  std::thread([&] {
    Lock lock = one->make_lock("name");
    lock.lock();
    token = lock.token();
  }).join();
  for (int i = 0; i < 5; ++i) {
    std::thread([&] {
      Lock lock = one->make_lock("name");
      EXPECT_EQ(lock.hold_count(), 0U) << "a new thread inherited the hold";
      EXPECT_FALSE(lock.try_lock());
      std::error_code ec;
      lock.unlock(ec);
      EXPECT_EQ(ec, Errc::not_owner);
    }).join();
  }
  EXPECT_FALSE(nobody_holds(other, "name"));
  one.reset();
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, fallback_period * 2));
  EXPECT_GT(next.token(), token);
  next.unlock();
}

MORTISE_TEST(Guards, ErrorCodeFormsDoNotThrow) {
  Client one = client();
  Lock lock = one.make_lock("name");
  std::error_code ec = Errc::protocol;
  {
    const Guard guard(lock, {}, ec);
    EXPECT_TRUE(guard);
    EXPECT_FALSE(ec);
  }
  ec = Errc::protocol;
  lock.lock(ec);
  EXPECT_FALSE(ec);
  ec = Errc::protocol;
  EXPECT_TRUE(lock.try_lock(ec));
  EXPECT_FALSE(ec);
  ec = Errc::protocol;
  lock.unlock(ec);
  EXPECT_FALSE(ec);
  ec = Errc::protocol;
  EXPECT_EQ(lock.release(ec), Released::released);
  EXPECT_FALSE(ec);
  ec = Errc::protocol;
  EXPECT_FALSE(lock.holder(ec).has_value());
  EXPECT_EQ(!ec, has(Quality::holders));
  one.check(patience, ec);
  EXPECT_FALSE(ec);
}

}  // namespace
}  // namespace mortise::contract
