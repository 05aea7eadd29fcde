// SPDX-License-Identifier: MIT
// Goal: a cluster is given more room while it works: no hold is lost, and no waiter is forgotten.
// Method: a thousand slots move from server to server under load, with a thousand names held and a
// hundred waited for.
#include "fault/redis_cluster_fixture.hpp"

#include <atomic>
#include <deque>
#include <future>
#include <set>
#include <thread>

namespace mortise::fault {
namespace {

class RedisClusterLoadLong : public RedisClusterTest {};

TEST_F(RedisClusterLoadLong, AThousandSlotsMoveAndNothingIsLost) {
  constexpr std::size_t holds = 1'000;
  constexpr std::size_t waits = 100;
  cluster({.masters = 3, .replicas = 0});
  Client holder = client();
  std::deque<Lock> held;
  for (std::size_t i = 0; i < holds; ++i) {
    held.push_back(holder.make_lock("held" + std::to_string(i), {.lease = 10s}));
    held.back().lock();
  }
  // Each of them waits for one of those; they are of four clients.
  std::deque<Client> theirs;
  for (int i = 0; i < 4; ++i) theirs.push_back(client());
  std::deque<Worker> threads(waits);
  std::deque<Lock> wanted;
  std::vector<std::future<Token>> served;
  for (std::size_t i = 0; i < waits; ++i) {
    wanted.push_back(theirs[i % 4].make_lock("held" + std::to_string(i), {.lease = 10s}));
    served.push_back(threads[i].start([&lock = wanted.back()] {
      lock.lock();
      return lock.token();
    }));
  }
  // And others come and go all the while.
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> cycles{0};
  std::vector<std::future<Failure>> busy;
  std::deque<Worker> workers(4);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    busy.push_back(workers[i].start([&, i] {
      return failure_of([&] {
        for (std::uint64_t n = 0; !over.load(); ++n) {
          Lock lock = theirs[i].make_lock("busy" + std::to_string(n % 200), {.lease = 10s});
          lock.lock();
          lock.unlock();
          ++cycles;
        }
      });
    }));
  }
  // The slots of what is held and waited for first, and then others.
  std::set<std::uint16_t> slots;
  for (std::size_t i = 0; i < holds; ++i)
    slots.insert(cluster().slot_of("held" + std::to_string(i)));
  for (std::uint16_t slot = 0; slots.size() < 1'000; ++slot) slots.insert(slot);
  const auto before = cycles.load();
  for (const std::uint16_t slot : slots) {
    cluster().move(slot, (cluster().master_of(slot) + 1) % 3);
  }
  EXPECT_GT(cycles.load(), before);
  over.store(true);
  for (auto& each : busy) {
    const Failure failure = each.get();
    EXPECT_FALSE(failure) << failure.text;
  }
  for (std::size_t i = 0; i < holds; ++i) {
    EXPECT_FALSE(held[i].lost().stop_requested()) << i;
    const Token token = held[i].token();
    EXPECT_EQ(held[i].release(), Released::released) << i;
    if (i >= waits) continue;
    ASSERT_TRUE(comes(served[i], 3s)) << i;
    EXPECT_GT(served[i].get().value(), token.value());
    EXPECT_EQ(threads[i].run([&] { return wanted[i].release(); }), Released::released);
  }
}

}  // namespace
}  // namespace mortise::fault
