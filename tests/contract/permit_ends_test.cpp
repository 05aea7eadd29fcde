// SPDX-License-Identifier: MIT
// Goal: a permit, and a reader's part, end once, whichever way they end: moved, released twice,
// behind their client, in a forked child, with the thread that took them. Method: each of these;
// and another client counts what is free.
#include "support/contract_readers.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::contract {
namespace {

Permit taken(Semaphore& semaphore) { return semaphore.acquire({.wait = patience}); }

/// @return how many permits of "gate" are free.
std::size_t free_permits(Client& asking, std::uint32_t of) {
  asking.check(patience);  // a request that may not wait is not to wait for a connection either
  Semaphore gate = asking.make_semaphore("gate", of);
  std::vector<Permit> all;
  for (;;) {
    Permit next = gate.try_acquire();
    if (!next) return all.size();
    all.push_back(std::move(next));
  }
}

/// @return whether all that the body expects was so in a child of this process.
bool so_in_a_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    body();
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0;
}

MORTISE_TEST(Permits, EndOnceHoweverTheyAreMovedAndReleased, Quality::permits) {
  Client one = client();
  Client other = client();
  Semaphore gate = one.make_semaphore("gate", 2);
  Permit first = taken(gate);
  ASSERT_TRUE(first);
  const Token token = first.token();
  Permit moved = std::move(first);
  EXPECT_EQ(moved.token(), token);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): an empty one, as is said
  EXPECT_EQ(first.valid_for(), 0ns);
  EXPECT_EQ(first.unlock(), Released::was_lost);
  EXPECT_GT(moved.valid_for(), 0ns) << "it has nothing to do with that";
  EXPECT_EQ(free_permits(other, 2), 1U);
  moved = taken(gate);
  EXPECT_GT(moved.token(), token);
  EXPECT_EQ(free_permits(other, 2), 1U) << "the one before was given back";
  Permit& same = moved;
  moved = std::move(same);
  EXPECT_TRUE(moved);
  EXPECT_EQ(moved.unlock(), Released::released);
  EXPECT_EQ(moved.unlock(), Released::was_lost);
  EXPECT_FALSE(moved.token());
  EXPECT_EQ(free_permits(other, 2), 2U);
  Semaphore elsewhere = std::move(gate);
  EXPECT_TRUE(taken(elsewhere));
}

MORTISE_TEST(Permits, EndWithTheirClientAndNotAgain, Quality::permits) {
  Client other = client();
  std::optional<Permit> permit;
  std::optional<Semaphore> late;
  {
    Client one = client();
    Semaphore gate = one.make_semaphore("gate", 1);
    permit.emplace(taken(gate));
    ASSERT_TRUE(*permit);
    late.emplace(one.make_semaphore("gate", 1));
  }
  EXPECT_EQ(permit->valid_for(), 0ns);
  EXPECT_TRUE(permit->lost().stop_requested());
  EXPECT_TRUE(eventually([&] { return free_permits(other, 1) == 1; }));
  EXPECT_EQ(permit->unlock(), Released::unknown);
  permit.reset();
  std::error_code ec;
  EXPECT_FALSE(late->try_acquire(ec));
  EXPECT_EQ(ec, Errc::closed);
  EXPECT_EQ(free_permits(other, 1), 1U);
}

// Promise: S9
MORTISE_TEST(Permits, EndNotInAForkedChild, Quality::permits) {
  Client one = client();
  Client other = client();
  std::optional<Semaphore> gate(one.make_semaphore("gate", 2));
  std::optional<Permit> permit(taken(*gate));
  ASSERT_TRUE(*permit);
  EXPECT_TRUE(so_in_a_child([&] {
    EXPECT_EQ(permit->valid_for(), 0ns);
    std::error_code ec;
    EXPECT_FALSE(gate->try_acquire(ec));
    EXPECT_EQ(ec, Errc::closed);
    EXPECT_THROW(static_cast<void>(gate->try_acquire()), Error);
    EXPECT_THROW(static_cast<void>(one.make_semaphore("gate", 2)), Error);
    Permit moved = std::move(*permit);
    EXPECT_EQ(moved.unlock(), Released::unknown);
    permit.reset();
    gate.reset();
  }));
  EXPECT_GT(permit->valid_for(), 0ns) << "the child has given it back";
  EXPECT_EQ(free_permits(other, 2), 1U);
  EXPECT_EQ(permit->unlock(), Released::released);
}

// Promise: S9
MORTISE_TEST(Sharing, EndsNotInAForkedChild, Quality::shared) {
  Client one = client();
  Client other = client();
  ReadWriteLock lock = one.make_read_write_lock("name");
  std::optional<Guard> guard(std::in_place, lock.reader());
  ASSERT_TRUE(*guard);
  EXPECT_TRUE(so_in_a_child([&] {
    EXPECT_EQ(lock.reader().hold_count(), 0U);
    std::error_code ec;
    lock.lock_shared(ec);
    EXPECT_EQ(ec, Errc::closed);
    EXPECT_FALSE(lock.try_lock(ec));
    EXPECT_EQ(ec, Errc::closed);
    lock.unlock_shared();  // silent
    guard.reset();
    EXPECT_FALSE(lock_all({lock.reader()}, {}, ec));
    EXPECT_EQ(ec, Errc::closed);
  }));
  EXPECT_EQ(lock.reader().hold_count(), 1U);
  EXPECT_FALSE(writable(other));
  EXPECT_EQ(guard->unlock(), Released::released);
  EXPECT_TRUE(writable(other));
}

// Promise: L9
MORTISE_TEST(Permits, EndNotWithTheThreadThatTookThem, Quality::permits, Quality::leases) {
  const LockOptions options{.lease = renewed_lease()};
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  Semaphore gate = one.make_semaphore("gate", 1, options);
  std::optional<Permit> permit;
  std::thread([&] { permit.emplace(gate.acquire()); }).join();
  ASSERT_TRUE(*permit);
  EXPECT_TRUE(record->told(Record::Kind::renewed, 3)) << "the thread has ended, the hold has not";
  EXPECT_GT(permit->valid_for(), 0ns) << "whoever has it can give it back";
  EXPECT_EQ(free_permits(other, 1), 0U);
  EXPECT_EQ(permit->unlock(), Released::released);
  EXPECT_EQ(free_permits(other, 1), 1U);
}

}  // namespace
}  // namespace mortise::contract
