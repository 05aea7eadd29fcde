// SPDX-License-Identifier: MIT
// Goal: what a dead client held is free in time (L1), and a dead waiter holds nobody up (L5).
// Method: clients that are cut off from the store, and processes that are killed or stopped.
#include "model/process.hpp"
#include "support/contract_process.hpp"
#include "support/contract_suites.hpp"

#include <memory>

namespace mortise::contract {
namespace {

// A child that is told to go on by a line that never tells ends with the test.
constexpr std::chrono::minutes until_killed{5};

/// A process that holds "name" until it is killed. Start it before any client of this process.
model::Process start_holder(const std::function<Client()>& open, const Line& tells,
                            const LockOptions& options) {
  return model::Process::fork_child([&] {
    Client mine = open();
    Lock lock = mine.make_lock("name", options);
    lock.lock();
    tells.tell('h');
    static_cast<void>(Line().hear(until_killed));
    return 0;
  });
}

// Promise: L1
MORTISE_TEST(Crash, ACutOffHolderIsOutWithinItsLease, Quality::leases) {
  Party crashed = party();
  Client other = client();
  const LockOptions options{.lease = short_lease()};
  Lock lock = crashed.client.make_lock("name", options);
  lock.lock();
  crashed.probe->sever();
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, lease_of(options) + 1s));
  EXPECT_EQ(lock.valid_for(), 0ns);
  next.unlock();
  crashed.probe->mend();
}

// Promise: L1
MORTISE_TEST(Crash, AKilledHolderIsOutWithinItsLease, Hook::processes) {
  const LockOptions options{.lease = short_lease() * 3};
  const std::chrono::milliseconds lease = leases() ? lease_of(options) : 0ms;
  const Line line;
  model::Process holder = start_holder([this] { return client(); }, line, options);
  ASSERT_EQ(line.hear(patience), 'h');
  Client other = client();
  Lock lock = other.make_lock("name");
  EXPECT_FALSE(lock.try_lock());
  EXPECT_EQ(holder.kill().signal, SIGKILL);
  EXPECT_TRUE(taken_within(lock, lease + 1s));
  EXPECT_TRUE(lock.token());
  lock.unlock();
}

// Promise: L1
MORTISE_TEST(Crash, WaitersOfAKilledHolderAreServed, Hook::processes) {
  const LockOptions options{.lease = short_lease() * 3};
  const std::chrono::milliseconds lease = leases() ? lease_of(options) : 0ms;
  const Line line;
  model::Process holder = start_holder([this] { return client(); }, line, options);
  ASSERT_EQ(line.hear(patience), 'h');
  Client other = client();
  Lock lock = other.make_lock("name");
  Worker waiter;
  auto served = waiter.start([&] {
    const std::lock_guard hold(lock);
    return lock.token();
  });
  ASSERT_TRUE(waiter.falls_asleep());
  const auto took = own_duration_of([&] {
    EXPECT_EQ(holder.kill().signal, SIGKILL);
    EXPECT_TRUE(served.get());
  });
  EXPECT_LT(took, lease + fallback_period + 1s);
}

// Promise: S2
MORTISE_TEST(Crash, TokensGrowOverTheDeathOfHolders, Hook::processes) {
  const LockOptions options{.lease = short_lease()};
  const Shared<std::atomic<std::uint64_t>> token;
  std::uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    const Line line;
    model::Process holder = model::Process::fork_child([&] {
      Client mine = client();
      Lock lock = mine.make_lock("name", options);
      lock.lock();
      token->store(lock.token().value());
      line.tell('h');
      static_cast<void>(Line().hear(until_killed));
      return 0;
    });
    ASSERT_EQ(line.hear(patience), 'h');
    EXPECT_GT(token->load(), last);
    last = token->load();
    holder.kill();
  }
}

// Promise: L5
MORTISE_TEST(Crash, AKilledWaiterIsSkipped, Hook::processes) {
  const Line holds;
  const Line frees;
  const Line waits;
  model::Process holder = model::Process::fork_child([&] {
    Client mine = client();
    Lock lock = mine.make_lock("name");
    lock.lock();
    holds.tell('h');
    if (frees.hear(until_killed) != 'f') return 1;
    lock.unlock();
    return 0;
  });
  ASSERT_EQ(holds.hear(patience), 'h');
  model::Process dead = model::Process::fork_child([&] {
    Client mine = client();
    Lock lock = mine.make_lock("name");
    waits.tell('w');
    lock.lock();
    return 0;
  });
  ASSERT_EQ(waits.hear(patience), 'w');
  Client other = client();
  Lock lock = other.make_lock("name");
  EXPECT_FALSE(lock.try_lock());  // has all the time that it takes to connect
  // Both wait now: the one who will be dead came first, unless the scheduler did not let it.
  EXPECT_FALSE(lock.try_lock_for(answer_time));
  dead.kill();
  Worker waiter;
  auto served = waiter.start([&] {
    const std::lock_guard hold(lock);
    return lock.token();
  });
  ASSERT_TRUE(waiter.falls_asleep());
  frees.tell('f');
  // One provisional lease, of 2 s, for each dead waiter that the server has not noticed.
  const auto within = fallback_period + 1s + (leases() ? 2s : 0s);
  ASSERT_TRUE(comes(served, within)) << "the dead waiter is waited for";
  EXPECT_TRUE(served.get());
  EXPECT_EQ(holder.wait_for(patience)->code, 0);
}

MORTISE_TEST(Crash, AHolderThatWasStoppedBeyondItsLeaseKnowsIt, Quality::leases, Hook::processes) {
  const LockOptions options{.lease = short_lease()};
  const Line holds;
  const Line goes_on;
  model::Process holder = model::Process::fork_child([&] {
    Client mine = client();
    Lock lock = mine.make_lock("name", options);
    lock.lock();
    const std::stop_token lost = lock.lost();
    holds.tell('h');
    if (goes_on.hear(until_killed) != 'g') return 1;
    if (lock.valid_for() != 0ns) return 2;
    if (!eventually([&] { return lost.stop_requested(); })) return 3;
    return lock.release() == Released::was_lost ? 0 : 4;
  });
  ASSERT_EQ(holds.hear(patience), 'h');
  Client other = client();
  Lock lock = other.make_lock("name");
  ASSERT_TRUE(holder.stop());
  EXPECT_TRUE(taken_within(lock, lease_of(options) + 1s));
  goes_on.tell('g');
  holder.resume();
  const std::optional<model::Exit> exit = holder.wait_for(patience);
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 0);
  EXPECT_EQ(lock.release(), Released::released) << "the former holder took the name with it";
}

MORTISE_TEST(Crash, AStoppedWaiterHoldsNobodyUpForLong, Hook::processes) {
  const Line waits;
  const Line holds;
  const Line frees;
  model::Process holder = model::Process::fork_child([&] {
    Client mine = client();
    Lock lock = mine.make_lock("name");
    lock.lock();
    holds.tell('h');
    if (frees.hear(until_killed) != 'f') return 1;
    lock.unlock();
    return 0;
  });
  ASSERT_EQ(holds.hear(patience), 'h');
  model::Process stopped = model::Process::fork_child([&] {
    Client mine = client();
    Lock lock = mine.make_lock("name");
    waits.tell('w');
    lock.lock();
    lock.unlock();
    return 0;
  });
  ASSERT_EQ(waits.hear(patience), 'w');
  Client other = client();
  Lock lock = other.make_lock("name");
  EXPECT_FALSE(lock.try_lock());  // as above
  EXPECT_FALSE(lock.try_lock_for(answer_time));
  ASSERT_TRUE(stopped.stop());
  frees.tell('f');
  const auto within = fallback_period + 1s + (leases() ? 2s : 0s);
  EXPECT_TRUE(taken_within(lock, within));
  if (lock.hold_count() > 0) lock.unlock();
  stopped.resume();
  const std::optional<model::Exit> exit = stopped.wait_for(patience);
  ASSERT_TRUE(exit.has_value()) << "a waiter that was stopped never comes back";
  EXPECT_EQ(exit->code, 0);
}

}  // namespace
}  // namespace mortise::contract
