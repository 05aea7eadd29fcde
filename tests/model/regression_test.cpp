// SPDX-License-Identifier: MIT
// Goal: what histories have found once stays found. Method: each test is the shortest way to a
// fault that a history of a random run has shown; the promise is named at the test.
#include <mortise/client.hpp>
#include <mortise/memory.hpp>

#include "support/contract_worker.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;
using test::eventually;

// L2. Each caller waited for less than a fallback period and passed its place in the server's queue
// on to the next one, which began to count anew: nobody ever asked, and the lock stayed free.
TEST(Regression, CallersThatWaitInTurnsAskTheServerInTime) {
  memory::Server server;
  server.set_faults({.lose_push = 1});
  Client holders(server.backend());
  Lock held = holders.make_lock("n");
  held.lock();

  Client client(server.backend());
  std::atomic<bool> granted{false};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      Lock lock = client.make_lock("n");
      std::chrono::milliseconds wait = thread == 0 ? 600ms : 300ms;
      while (!over.load() && !granted.load()) {
        if (lock.try_lock_for(wait)) {
          granted.store(true);
          lock.unlock();
        }
        wait = 600ms;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return server.waiters() == 1; }));
  held.unlock();
  EXPECT_TRUE(eventually([&] { return granted.load(); }, 10s)) << "the wake-up is lost";
  over.store(true);
  for (std::thread& thread : threads) thread.join();
}

// S1. A waiter asked again and was told that the name is its own; then the push of that grant,
// which the answer had overtaken, was taken for an orphaned grant, and the name was given back.
TEST(Regression, APushThatComesAfterTheAnswerGivesNothingBack) {
  const auto clock = std::make_shared<ManualClock>();
  memory::Server server(clock);
  Client first(server.backend(), {.clock = clock});
  Client second(server.backend(), {.clock = clock});
  Client third(server.backend(), {.clock = clock});
  const auto every_message_takes = [&](std::chrono::nanoseconds time) {
    server.set_faults({.delay_min = time, .delay_max = time});
  };
  contract::Worker holder;
  contract::Worker waiter;
  contract::Worker other;
  Lock held = first.make_lock("n");
  Lock wanted = second.make_lock("n");
  holder.run([&] { held.lock(); });
  std::future<bool> granted = waiter.start([&] { return wanted.try_lock_for(10s); });
  ASSERT_TRUE(eventually([&] { return server.waiters() == 1; }) && waiter.falls_asleep());

  // The release takes 100 ms, the push that it causes 1500 ms; asking again takes no time.
  every_message_takes(100ms);
  std::future<void> released = holder.start([&] { held.unlock(); });
  ASSERT_TRUE(holder.falls_asleep());
  every_message_takes(1500ms);
  clock->advance(100ms);
  ASSERT_TRUE(eventually([&] { return server.pushes() == 1; }));
  every_message_takes(0ms);
  clock->advance(950ms);
  ASSERT_TRUE(granted.get());

  // Messages arrive in the order of their times: once this one has, the push has as well.
  every_message_takes(600ms);
  Lock later = second.make_lock("m");
  std::future<bool> followed = other.start([&] { return later.try_lock_for(1min); });
  ASSERT_TRUE(other.falls_asleep());
  every_message_takes(0ms);
  clock->advance(600ms);
  ASSERT_TRUE(followed.get());

  EXPECT_GT(waiter.run([&] { return wanted.valid_for(); }), 0ns);
  EXPECT_FALSE(third.make_lock("n").try_lock()) << "held twice";
  waiter.run([&] { wanted.unlock(); });
  other.run([&] { later.unlock(); });
  released.get();
}

}  // namespace
}  // namespace mortise::model
