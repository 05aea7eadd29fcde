// SPDX-License-Identifier: MIT
// Goal: an administrator sees who holds a name and who waits for it, and can end a hold. Method:
// queues of known order, looks that may change nothing, and holds that are ended, or must not be.
#include "support/contract_suites.hpp"
#include "support/hostile_names.hpp"

#include <deque>
#include <string>
#include <vector>

namespace mortise::contract {
namespace {

using test::hostile_names;

const QueueOptions patiently{.wait = patience};

LockOptions for_long() { return {.lease = 60s}; }

MORTISE_TEST(Administering, AQueueTellsWhoHolds, Quality::queues, Quality::holders) {
  Client one = client();
  Client asking = client();
  for (const std::string& name : hostile_names()) {
    EXPECT_TRUE(asking.queue(name, patiently).holders.empty()) << ::testing::PrintToString(name);
    Lock lock = one.make_lock(name, {.lease = 60s, .label = "the gr\xc3\xbcn holder"});
    lock.lock();
    const NameQueue queue = asking.queue(name, patiently);
    ASSERT_EQ(queue.holders.size(), 1U) << ::testing::PrintToString(name);
    const HolderEntry& holder = queue.holders.front();
    EXPECT_EQ(holder.label, "the gr\xc3\xbcn holder");
    EXPECT_EQ(holder.mode, Mode::exclusive);
    EXPECT_EQ(holder.token, lock.token());
    if (holder.age) {
      EXPECT_LT(*holder.age, patience);
    }
    if (holder.expires_in) {
      EXPECT_LE(*holder.expires_in, lease_of(for_long()));
    }
    EXPECT_EQ(holder.expires_in.has_value(), lock.holder()->expires_in.has_value());
    EXPECT_TRUE(queue.waiters.empty());
    EXPECT_EQ(queue.waiters_in_all.value_or(0), 0U);
    lock.unlock();
  }
}

/// One client with a thread that waits for "name".
struct Waits {
  Waits(Client opened, const std::string& label)
      : client(std::move(opened)), lock(client.make_lock("name", {.lease = 60s, .label = label})) {
    served = thread.start([this] {
      lock.lock();
      lock.unlock();
    });
  }
  Client client;
  Lock lock;
  Worker thread;
  std::future<void> served;
};

MORTISE_TEST(Administering, AQueueTellsWhoWaitsInTurn, Quality::waiters) {
  Client one = client();
  Client asking = client();
  Lock held = one.make_lock("name", for_long());
  held.lock();
  std::deque<Waits> waiters;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < 5; ++i) {
    labels.push_back("waiter " + std::to_string(i));
    waiters.emplace_back(client(), labels.back());
    ASSERT_TRUE(eventually([&] { return asking.queue("name", patiently).waiters.size() == i + 1; }))
        << i;
  }
  const NameQueue queue = asking.queue("name", patiently);
  ASSERT_EQ(queue.holders.size(), 1U);
  EXPECT_EQ(queue.holders.front().token, held.token());
  EXPECT_EQ(queue.waiters_in_all, 5U);
  ASSERT_EQ(queue.waiters.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    const WaiterEntry& waiter = queue.waiters[i];
    if (!waiter.label.empty()) {
      EXPECT_EQ(waiter.label, labels[i]);
    }
    if (waiter.age) {
      EXPECT_LT(*waiter.age, patience);
    }
    if (waiter.silent_for) {
      EXPECT_LT(*waiter.silent_for, patience);
    }
    EXPECT_EQ(waiter.mode, Mode::exclusive);
  }
  EXPECT_EQ(has(Quality::waiter_labels), !queue.waiters.front().label.empty());
  const NameQueue first = asking.queue("name", {.limit = 2, .wait = patience});
  ASSERT_EQ(first.waiters.size(), 2U);
  if (has(Quality::waiter_labels)) {
    EXPECT_EQ(first.waiters.back().label, labels[1]);
  }
  EXPECT_EQ(first.waiters_in_all, 5U) << "those that are left out are counted";
  held.unlock();
  for (Waits& waiter : waiters) waiter.served.get();
  EXPECT_TRUE(eventually([&] {
    const NameQueue after = asking.queue("name", patiently);
    return after.holders.empty() && after.waiters.empty() && after.waiters_in_all == 0U;
  }));
}

// A list and a queue are looks: whoever waits has its turn as before, and a free name stays free.
MORTISE_TEST(Administering, LooksChangeNothing, Quality::lists, Quality::queues) {
  Client one = client();
  Client asking = client();
  Lock lock = one.make_lock("a", for_long());
  lock.lock();
  const Token before = lock.token();
  for (int i = 0; i < 20; ++i) {
    static_cast<void>(asking.list("", {.wait = patience}));
    static_cast<void>(asking.queue("a", patiently));
    static_cast<void>(asking.queue("free", patiently));
  }
  EXPECT_EQ(lock.token(), before);
  EXPECT_GT(lock.valid_for(), 0ns);
  EXPECT_EQ(lock.release(), Released::released);
  Lock other = asking.make_lock("a", for_long());
  other.lock();
  EXPECT_GT(other.token(), before);
  other.unlock();
  Lock free = asking.make_lock("free", for_long());
  EXPECT_TRUE(free.try_lock());
  free.unlock();
}

// Promise: S2
MORTISE_TEST(Administering, AHoldIsEndedAndItsHolderTold, Quality::forces, Quality::holders) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("a", {.lease = 3 * short_lease(), .label = "robbed"});
  EXPECT_TRUE(other.force_release("a", {.wait = patience}).empty()) << "it was free";
  lock.lock();
  const Token old = lock.token();
  const std::stop_token lost = lock.lost();
  const std::vector<Holder> ended = other.force_release("a", {.wait = patience});
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().label, "robbed");
  EXPECT_EQ(ended.front().token, old);
  Lock next = other.make_lock("a", for_long());
  ASSERT_TRUE(next.try_lock_for(patience));
  EXPECT_GT(next.token(), old);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(other.make_lock("a").holder()->token, next.token());
  EXPECT_EQ(next.release(), Released::released);
}

MORTISE_TEST(Administering, AWaiterHasTheNameOfWhomeverWasRobbed, Quality::forces) {
  Client one = client();
  Client other = client();
  Client waiting = client();
  for (const std::string& name : {std::string("a"), std::string("{*\0%/", 5)}) {
    Lock lock = one.make_lock(name, for_long());
    Lock wanted = waiting.make_lock(name, for_long());
    lock.lock();
    Worker worker;
    auto served = worker.start([&] {
      wanted.lock();
      const Token token = wanted.token();
      wanted.unlock();
      return token;
    });
    ASSERT_TRUE(worker.falls_asleep());
    ASSERT_EQ(other.force_release(name, {.wait = patience}).size(), 1U);
    EXPECT_GT(served.get(), lock.token());
    lock.unlock();
  }
}

}  // namespace
}  // namespace mortise::contract
