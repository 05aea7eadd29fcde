// SPDX-License-Identifier: MIT
// Goal: a grant that others wait for costs the server no more requests than Curator's does, and who
// waits in vain behind others is told who has the lock all the same. Method: a server of the test's
// own counts packets.
#include "fault/zookeeper_fixture.hpp"

#include <atomic>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

constexpr int sessions = 8;
constexpr int grants_of_each = 50;
// To make a node, list, watch the one before, list again, delete the node.
constexpr double requests_of_a_grant = 5;
constexpr double signs_of_life = 0.4;  // of eight sessions, on a machine that does much else

class ZooKeeperRequests : public ZooKeeperTest {};

TEST_F(ZooKeeperRequests, OfAGrantAmongEightSessionsAreFive) {
  have_own();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < sessions; ++i) {
    clients.push_back(std::make_unique<Client>(url("session=4s&margin=300ms")));
    clients.back()->check(patience);
  }
  make_parent(*clients.front(), "a");
  std::atomic<int> inside{0};
  std::latch all(sessions + 1);
  std::vector<std::thread> threads;
  threads.reserve(sessions);
  for (const auto& client : clients) {
    threads.emplace_back([&] {
      Lock lock = client->make_lock("a");
      all.arrive_and_wait();
      for (int i = 0; i < grants_of_each; ++i) {
        lock.lock();
        EXPECT_EQ(inside.fetch_add(1), 0) << "two hold the lock";
        inside.fetch_sub(1);
        lock.unlock();
      }
    });
  }
  const std::int64_t before = server().figure("packets_received");
  all.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  const std::int64_t packets = server().figure("packets_received") - before;
  const double each = static_cast<double>(packets) / (sessions * grants_of_each);
  EXPECT_LT(each, requests_of_a_grant + signs_of_life);
}

TEST_F(ZooKeeperRequests, OfWhoLeavesFromBehindAWaiterTellWhoHasTheLock) {
  Client holder = client();
  Lock held = holder.make_lock("a", {.label = "the holder"});
  held.lock();
  Party waiter(client(), "a", {.label = "a waiter"});
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  Client mine = client();
  Lock wanted = mine.make_lock("a");
  // Before its first look at the queue, and after it.
  for (const std::chrono::milliseconds wait : {100ms, 1'300ms}) {
    const Guard guard(wanted, {.wait = wait});
    EXPECT_EQ(guard.error(), Errc::timeout);
    ASSERT_TRUE(guard.holder()) << wait.count();
    EXPECT_EQ(guard.holder()->label, "the holder");
    EXPECT_EQ(guard.holder()->token, held.token());
  }
  // The next one has it when that look comes.
  Worker worker;
  auto told = worker.start([&] { return Guard(wanted, {.wait = 1'500ms}).holder(); });
  ASSERT_TRUE(come_to_wait("a", 2));
  EXPECT_EQ(held.release(), Released::released);
  ASSERT_TRUE(comes(served));
  const std::optional<Holder> next = told.get();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->label, "a waiter");
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
