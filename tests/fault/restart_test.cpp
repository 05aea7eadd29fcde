// SPDX-License-Identifier: MIT
// Goal: a server that dies, and has everything again that it had acknowledged, costs time, and no
// hold, no token and no waiter's turn (S1, S2, L7, L8). Method: killed and started anew while a
// lock is held, waited for and released; the same on each backend whose server is such a one.
#include "fault/own_server.hpp"

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <string>

namespace mortise::fault {
namespace {

/// So many restarts may take longer than the leases that were chosen for them.
constexpr int rounds = 3;

// Promise: L8
MORTISE_TEST(Restart, AHoldStandsAndIsRenewed) {
  const auto record = std::make_shared<Record>();
  Client other = client();
  std::optional<Client> mine;
  std::optional<Lock> lock;
  Token token;
  bool in_time = false;
  for (int round = 0; round < rounds && !in_time; ++round) {
    const auto lease = lease_beyond_a_restart();
    if (mine) mine->close();
    mine.emplace(client(lease, {.observer = record}));
    lock.emplace(mine->make_lock("a", server().hold(lease)));
    lock->lock();
    token = lock->token();
    in_time = restarts_within_lease(*lock, lease);
  }
  ASSERT_TRUE(in_time) << "each restart took longer than half of the lease";
  const std::size_t before = record->count(Record::Kind::renewed);
  EXPECT_TRUE(record->told(Record::Kind::renewed, before + 2));
  EXPECT_FALSE(other.make_lock("a").try_lock_for(answer_time));
  EXPECT_FALSE(lock->lost().stop_requested());
  EXPECT_GT(lock->valid_for(), 1s);
  EXPECT_EQ(lock->token(), token);
  EXPECT_EQ(lock->release(), Released::released);
  Lock next = other.make_lock("a");
  EXPECT_TRUE(next.try_lock_for(patience));
  EXPECT_GT(next.token(), token);
  EXPECT_EQ(next.release(), Released::released);
}

MORTISE_TEST(Restart, AWaiterGoesOnWaitingAndIsServedByTheRelease) {
  std::optional<Client> mine;
  std::optional<Party> waiter;
  std::optional<Lock> lock;
  std::future<Token> served;
  std::string place;
  bool in_time = false;
  for (int round = 0; round < rounds && !in_time; ++round) {
    const auto lease = lease_beyond_a_restart();
    if (mine) mine->close();
    if (waiter) waiter->client().close();
    if (served.valid()) served.wait();
    mine.emplace(client(lease));
    lock.emplace(mine->make_lock("a", server().hold(lease)));
    lock->lock();
    waiter.emplace(client(lease), "a");
    served = waiter->start();
    ASSERT_TRUE(comes_to_wait("a"));
    place = server().place("a");
    in_time = restarts_within_lease(*lock, lease);
  }
  ASSERT_TRUE(in_time) << "each restart took longer than half of the lease";
  // Both are connected again, and it is not served.
  mine->check(patience);
  waiter->client().check(patience);
  EXPECT_EQ(server().place("a"), place) << "it has lost its turn";
  EXPECT_FALSE(comes_within(served, 0s));
  EXPECT_GT(lock->valid_for(), 0ns);
  const Token token = lock->token();
  EXPECT_EQ(lock->release(), Released::released);
  ASSERT_TRUE(comes(served));
  EXPECT_GT(served.get(), token);
  EXPECT_EQ(waiter->release(), Released::released);
  EXPECT_TRUE(comes_free(*mine, "a", patience));
}

// Promise: S1
MORTISE_TEST(Restart, AWaiterIsServedAfterTheOldLeaseAndNotBefore, Ability::leases) {
  constexpr auto lease = 2s;
  Client mine = client();
  LockOptions options = server().hold(lease);
  options.renew = false;
  Lock lock = mine.make_lock("a", options);
  lock.lock();
  const Owner holder = Owner().or_this_thread();
  Party waiter(client(), "a");
  auto left = waiter.worker().start([&] {
    waiter.lock().lock();
    return lock.valid_for(holder);
  });
  ASSERT_TRUE(comes_to_wait("a"));
  server().kill();
  server().start();
  ASSERT_TRUE(comes(left, lease + 1s));
  EXPECT_EQ(left.get(), 0ns) << "two held the lock";
  EXPECT_EQ(waiter.release(), Released::released);
  lock.unlock();
}

// Promise: S6
MORTISE_TEST(Restart, AServerThatStaysAwayBeyondTheLeaseHasTheHoldLostByTheClock) {
  const std::chrono::milliseconds lease = ground().short_lease;
  Client mine = client(lease);
  Lock lock = mine.make_lock("a", server().hold(lease));
  lock.lock();
  server().kill();
  const std::chrono::nanoseconds left = lock.valid_for();
  const SafetyMargin margin = mine.capabilities().safety_margin;
  EXPECT_LE(left, lease - std::max(lease * margin.permille / 1000, margin.least));
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, left + allowance + slack));
  EXPECT_EQ(lock.valid_for(), 0ns);
  server().start();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
}

// Promise: L7
MORTISE_TEST(Restart, WhoComesWhileTheServerIsDownIsServedWhenItIsBack) {
  Party early(client(), "a");
  early.client().check(patience);
  server().kill();
  auto served = early.start();
  Party fresh(client(), "b");
  auto also = fresh.start();
  ASSERT_TRUE(early.worker().falls_asleep());
  ASSERT_TRUE(fresh.worker().falls_asleep());
  server().start();
  EXPECT_TRUE(comes(served, 3s));
  EXPECT_TRUE(comes(also, 3s));
  EXPECT_EQ(early.release(), Released::released);
  EXPECT_EQ(fresh.release(), Released::released);
}

// Promise: L1
MORTISE_TEST(Restart, AReleaseWhileTheServerIsDownIsDoneWhenItIsBack) {
  constexpr auto lease = 20s;
  Client mine = client(lease);
  Client other = client();
  other.check(patience);
  Lock lock = mine.make_lock("a", server().hold(lease));
  lock.lock();
  server().kill();
  Released outcome{};
  EXPECT_LT(own_duration_of([&] { outcome = lock.release(); }), 1s + slack);
  EXPECT_EQ(outcome, Released::unknown);
  server().start();
  other.check(patience);
  // Far sooner than by its lease.
  EXPECT_TRUE(comes_free(other, "a", 6s));
}

}  // namespace
}  // namespace mortise::fault
