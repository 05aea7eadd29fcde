// SPDX-License-Identifier: MIT
// Goal: two owners of a name never hold it together (S1), be they threads of one client, clients of
// one process, or processes. Method: whoever holds enters a room where it must be alone, and moves
// a counter in two steps, so that a second holder's update is lost.
#include "model/process.hpp"
#include "support/contract_process.hpp"
#include "support/contract_suites.hpp"

#include <thread>
#include <vector>

namespace mortise::contract {
namespace {

/// Plain enough to be shared by processes. Atomics without order: the lock brings the order.
struct Room {
  std::atomic<int> inside{0};
  std::atomic<int> counter{0};
  std::atomic<std::uint64_t> last_token{0};
  std::atomic<int> met{0};          ///< somebody was inside already
  std::atomic<int> tokens_sank{0};  ///< a later holder had a smaller token

  void visit(const Lock& lock) {
    if (inside.fetch_add(1) != 0) met.fetch_add(1);
    const std::uint64_t token = lock.token().value();
    if (last_token.exchange(token) >= token) tokens_sank.fetch_add(1);
    const int seen = counter.load(std::memory_order_relaxed);
    std::this_thread::yield();
    counter.store(seen + 1, std::memory_order_relaxed);
    inside.fetch_sub(1);
  }
};

void visit_often(Lock lock, Room& room, int times) {
  for (int i = 0; i < times; ++i) {
    const std::lock_guard hold(lock);
    room.visit(lock);
  }
}

void expect_order(const Room& room, int visits) {
  EXPECT_EQ(room.met.load(), 0) << "two owners inside at once";
  EXPECT_EQ(room.tokens_sank.load(), 0) << "tokens did not grow with the grants";
  EXPECT_EQ(room.counter.load(), visits) << "updates were lost";
}

// Promise: S1
MORTISE_TEST(Exclusion, ThreadsOfOneClientNeverHoldTogether) {
  Client one = client();
  Room room;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back(visit_often, one.make_lock("name"), std::ref(room), 200);
  }
  expect_order(room, 4 * 200);
}

// Promise: S1
MORTISE_TEST(Exclusion, TwoClientsNeverHoldTogether) {
  Client one = client();
  Client other = client();
  Room room;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back(visit_often, one.make_lock("name"), std::ref(room), 150);
      threads.emplace_back(visit_often, other.make_lock("name"), std::ref(room), 150);
    }
  }
  expect_order(room, 4 * 150);
}

// Promise: S1
MORTISE_TEST(Exclusion, ClientsWithoutTurnsNeverHoldTogether) {
  // Each hand-over goes through the server.
  Client one = client({.turn_handoffs = 0});
  Client other = client({.turn_handoffs = 0});
  Room room;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back(visit_often, one.make_lock("name"), std::ref(room), 100);
      threads.emplace_back(visit_often, other.make_lock("name"), std::ref(room), 100);
    }
  }
  expect_order(room, 4 * 100);
}

// Promise: S1
MORTISE_TEST(Exclusion, ProcessesNeverHoldTogether, Hook::processes) {
  const Shared<Room> room;
  constexpr int processes = 3;
  constexpr int rounds = 100;
  std::vector<model::Process> children;
  for (int i = 0; i < processes; ++i) {
    children.push_back(model::Process::fork_child([&] {
      Client mine = client();
      std::jthread second(visit_often, mine.make_lock("name"), std::ref(*room.operator->()),
                          rounds);
      visit_often(mine.make_lock("name"), *room.operator->(), rounds);
      return 0;
    }));
  }
  for (model::Process& child : children) {
    const std::optional<model::Exit> exit = child.wait_for(patience * 2);
    ASSERT_TRUE(exit.has_value()) << "a client process hangs";
    EXPECT_EQ(exit->code, 0);
  }
  expect_order(*room.operator->(), processes * 2 * rounds);
}

MORTISE_TEST(Exclusion, AHeldNameIsRefusedToEverybodyElse) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  held.lock();
  Worker thread;
  Lock same_client = one.make_lock("name");
  Lock other_client = other.make_lock("name");
  EXPECT_FALSE(thread.run([&] { return same_client.try_lock(); }));
  EXPECT_FALSE(thread.run([&] { return other_client.try_lock(); }));
  EXPECT_FALSE(other_client.try_lock()) << "the same thread, but another client is another owner";
  EXPECT_FALSE(other_client.try_lock_for(answer_time));
  held.unlock();
  EXPECT_TRUE(other_client.try_lock_for(patience));
  other_client.unlock();
}

MORTISE_TEST(Exclusion, OtherNamesAreFree) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  held.lock();
  for (const char* const name : {"name2", "nam", "Name", "name/", "eman"}) {
    Lock free = other.make_lock(name);
    EXPECT_TRUE(free.try_lock()) << name;
    free.unlock();
  }
  held.unlock();
}

// Promise: S1
MORTISE_TEST(Exclusion, TheNextHolderComesAfterTheDeadlineOfOneWhoIsCutOff, Quality::leases) {
  Party crashed = party();
  Client other = client();
  Lock lost = crashed.client.make_lock("name", {.lease = short_lease(), .renew = false});
  lost.lock();
  const Instant deadline = BootClock::now() + lost.valid_for();
  crashed.probe->sever();
  Lock next = other.make_lock("name");
  ASSERT_TRUE(next.try_lock_for(patience));
  EXPECT_GT(BootClock::now(), deadline) << "granted while the former holder believed in its hold";
  EXPECT_EQ(lost.valid_for(), 0ns);
  next.unlock();
  crashed.probe->mend();
}

}  // namespace
}  // namespace mortise::contract
