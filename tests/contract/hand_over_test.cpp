// SPDX-License-Identifier: MIT
// Goal: a client passes a lock among its own threads without asking anybody, for one turn only
// (L5), and only where the next thread could not tell the difference. Method: tokens and requests:
// a token tells the grant it comes from, and a probe counts what the server is asked.
#include "support/contract_suites.hpp"

#include <memory>
#include <vector>

namespace mortise::contract {
namespace {

/// Tokens of one grant differ in their last ten bits only.
std::uint64_t grant_of(Token token) { return token.value() / 1024; }

/// A thread that waits for the lock; tells its token and how long its hold is valid.
struct Served {
  Token token;
  std::chrono::nanoseconds valid{};
};
std::future<Served> wait_on(Worker& worker, Lock& lock) {
  auto served = worker.start([&] {
    const std::lock_guard hold(lock);
    return Served{.token = lock.token(), .valid = lock.valid_for()};
  });
  EXPECT_TRUE(worker.falls_asleep());
  return served;
}

MORTISE_TEST(HandOver, AsksNobody) {
  Party busy = party({.turn = 10s});
  Lock lock = busy.client.make_lock("name");
  lock.lock();
  const Token first = lock.token();
  Worker one;
  Worker two;
  auto second = wait_on(one, lock);
  auto third = wait_on(two, lock);
  const Probe::Counts before = busy.probe->counts();
  EXPECT_EQ(lock.release(), Released::released);
  const Token second_token = second.get().token;
  const Token third_token = third.get().token;
  EXPECT_EQ(grant_of(second_token), grant_of(first));
  EXPECT_EQ(grant_of(third_token), grant_of(first));
  EXPECT_LT(first, second_token);
  EXPECT_LT(second_token, third_token);
  EXPECT_TRUE(eventually([&] { return busy.probe->counts().releases == before.releases + 1; }));
  EXPECT_EQ(busy.probe->counts().acquires, before.acquires);
}

// Promise: L5
MORTISE_TEST(HandOver, IsOverAfterTheTurnsHandOffs, Quality::fair, Hook::counts) {
  Client one = client({.turn = 60s, .turn_handoffs = 3});
  Client other = client();
  Lock lock = one.make_lock("name");
  Lock elsewhere = other.make_lock("name");
  lock.lock();
  const Token first = lock.token();
  Worker stranger;
  auto strangers = wait_on(stranger, elsewhere);
  ASSERT_TRUE(eventually([&] { return store().waiters() == 1; }));
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<Served>> served;
  for (int i = 0; i < 6; ++i) {
    workers.push_back(std::make_unique<Worker>());
    served.push_back(wait_on(*workers.back(), lock));
  }
  lock.unlock();
  const Token theirs = strangers.get().token;
  std::vector<Token> ours;
  for (auto& each : served) ours.push_back(each.get().token);
  EXPECT_EQ(grant_of(ours[2]), grant_of(first));
  EXPECT_LT(ours[2], theirs) << "the turn ended early";
  EXPECT_GT(ours[3], theirs) << "the turn did not end";
  EXPECT_EQ(grant_of(ours[3]), grant_of(ours[5])) << "the rest is served in the next turn";
}

// Promise: L5
MORTISE_TEST(HandOver, IsOverAfterTheTurnsTime, Quality::fair, Hook::counts, Hook::hand_clock) {
  take_the_clock();
  Client one = client({.turn = 5ms});
  Client other = client();
  Lock lock = one.make_lock("name");
  Lock elsewhere = other.make_lock("name");
  Worker stranger;
  Worker ours;
  for (const auto held : {4ms, 5ms}) {
    lock.lock();
    auto strangers = wait_on(stranger, elsewhere);
    ASSERT_TRUE(eventually([&] { return store().waiters() == 1; }));
    auto mine = wait_on(ours, lock);
    clock().advance(held);
    lock.unlock();
    const bool ours_first = mine.get().token < strangers.get().token;
    EXPECT_EQ(ours_first, held < 5ms);
  }
}

// Promise: L5
MORTISE_TEST(HandOver, LetsOtherClientsIn) {
  Client busy = client();
  Client other = client();
  Lock lock = busy.make_lock("name");
  Lock elsewhere = other.make_lock("name");
  std::atomic<bool> enough{false};
  std::atomic<int> grants{0};
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(std::make_unique<Worker>());
    static_cast<void>(workers.back()->start([&] {
      while (!enough.load()) {
        const std::lock_guard hold(lock);
        grants.fetch_add(1);
      }
    }));
  }
  EXPECT_TRUE(eventually([&] { return grants.load() > 100; }));
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(elsewhere.try_lock_for(10s)) << "the busy client never ends its turn";
    if (elsewhere.hold_count() > 0) elsewhere.unlock();
  }
  enough = true;
}

MORTISE_TEST(HandOver, OfNoTurnAtAllGoesThroughTheServer) {
  Party busy = party({.turn_handoffs = 0});
  Lock lock = busy.client.make_lock("name");
  lock.lock();
  const Token first = lock.token();
  Worker worker;
  auto second = wait_on(worker, lock);
  const Probe::Counts before = busy.probe->counts();
  lock.unlock();
  EXPECT_GT(grant_of(second.get().token), grant_of(first));
  EXPECT_GT(busy.probe->counts().releases, before.releases);
  EXPECT_EQ(busy.probe->counts().acquires, before.acquires)
      << "giving back and asking again is one request";
}

MORTISE_TEST(HandOver, OfOtherOptionsGoesToTheServer) {
  Client one = client({.turn = 10s});
  const LockOptions ours{.lease = 20s, .label = "ours"};
  std::vector<LockOptions> others(4, ours);
  others[0].lease = 40s;
  others[1].renew = false;
  others[2].max_hold = 60s;
  others[3].label = "theirs";
  Lock lock = one.make_lock("name", ours);
  for (const LockOptions& options : others) {
    Lock different = one.make_lock("name", options);
    lock.lock();
    const Token first = lock.token();
    Worker worker;
    auto second = wait_on(worker, different);
    lock.unlock();
    const Served served = second.get();
    EXPECT_GT(grant_of(served.token), grant_of(first));
    if (leases() && lease_of(options) == 40s) {
      EXPECT_GT(served.valid, 20s) << "it got our lease";
    }
  }
}

MORTISE_TEST(HandOver, GivesTheNextHolderItsOwnLabel, Quality::holders) {
  Client one = client({.turn = 10s});
  Lock ours = one.make_lock("name", {.label = "ours"});
  Lock theirs = one.make_lock("name", {.label = "theirs"});
  ours.lock();
  EXPECT_EQ(ours.holder().value_or(Holder{}).label, "ours");
  Worker worker;
  auto label = worker.start([&] {
    const std::lock_guard hold(theirs);
    return theirs.holder().value_or(Holder{}).label;
  });
  ASSERT_TRUE(worker.falls_asleep());
  ours.unlock();
  EXPECT_EQ(label.get(), "theirs");
}

MORTISE_TEST(HandOver, OfANearlyEndedLeaseGoesToTheServer, Quality::leases, Hook::hand_clock) {
  take_the_clock();
  Client one = client({.turn = 60s});
  const LockOptions options{.lease = 30s, .renew = false};
  Lock lock = one.make_lock("name", options);
  const auto usable = options.lease - margin_of(options.lease);
  lock.lock();
  Token first = lock.token();
  Worker worker;
  clock().advance(10s);
  auto early = wait_on(worker, lock);
  lock.unlock();
  const Served passed = early.get();
  EXPECT_EQ(grant_of(passed.token), grant_of(first));
  EXPECT_EQ(passed.valid, usable - 10s) << "a hold that was passed on begins no new lease";
  lock.lock();
  first = lock.token();
  clock().advance(20s);
  auto late = wait_on(worker, lock);
  lock.unlock();
  const Served fresh = late.get();
  EXPECT_GT(grant_of(fresh.token), grant_of(first));
  EXPECT_EQ(fresh.valid, usable) << "the next holder was given the rest of a lease";
}

MORTISE_TEST(HandOver, OfALostHoldGoesToTheServer, Quality::loss) {
  take_any_clock();
  Client one = client({.turn = 60s});
  Lock lock = one.make_lock("name", losable());
  lock.lock();
  const Token first = lock.token();
  Worker worker;
  auto next = wait_on(worker, lock);
  lose(lock);
  EXPECT_GT(grant_of(next.get().token), grant_of(first));
  lock.unlock();
}

MORTISE_TEST(HandOver, LeavesTheNameFreeAtItsEnd) {
  Client one = client({.turn = 10s});
  Client other = client();
  Lock lock = one.make_lock("name");
  lock.lock();
  Worker worker;
  auto served = wait_on(worker, lock);
  lock.unlock();
  static_cast<void>(served.get());
  Lock elsewhere = other.make_lock("name");
  EXPECT_TRUE(elsewhere.try_lock_for(patience));
  elsewhere.unlock();
}

}  // namespace
}  // namespace mortise::contract
