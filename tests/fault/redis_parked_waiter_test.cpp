// SPDX-License-Identifier: MIT
// Goal: a waiter and the busy threads of its client do not stand in each other's way: the waiter is
// served about as soon as one whose client does nothing else, and costs the busy threads nothing.
// Method: hand-overs between clients, measured side by side in the same rounds; the figures are
// printed. It measures, so it takes its time and does not run with the other tests.
#include "fault/redis_fixture.hpp"
#include "support/contract_worker.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

namespace mortise::fault {
namespace {

using contract::Worker;
using Micros = std::chrono::duration<double, std::micro>;

/// The value that so many of a hundred do not exceed.
double percentile(std::vector<double> values, std::size_t percent) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) * percent / 100];
}

class LongRedisParkedWaiter : public RedisTest {
 protected:
  /// A waiter on a client, and how long each hand-over to it takes.
  class Served {
   public:
    Served(LongRedisParkedWaiter& test, std::string name)
        : test_(test),
          client_(test.client()),
          lock_(client_.make_lock(name)),
          name_(std::move(name)) {}
    [[nodiscard]] Client& client() noexcept { return client_; }
    /// One hand-over from a lock of another client on the same name.
    void round(Lock& held) {
      held.lock();
      std::atomic<Instant::rep> got{0};
      auto served = worker_.start([&] {
        const std::lock_guard hold(lock_);
        got = BootClock::now().time_since_epoch().count();
      });
      ASSERT_TRUE(test_.come_to_wait(name_));
      ASSERT_TRUE(worker_.falls_asleep());
      const Instant left = BootClock::now();
      held.unlock();
      served.get();
      took_.push_back(Micros(Instant(Instant::duration(got.load())) - left).count());
    }
    [[nodiscard]] double percent(std::size_t which) const { return percentile(took_, which); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

   private:
    LongRedisParkedWaiter& test_;
    Client client_;
    Lock lock_;
    std::string name_;
    Worker worker_;
    std::vector<double> took_;
  };
};

TEST_F(LongRedisParkedWaiter, IsServedAsSoonAsOneWhoseClientIsIdle) {
  constexpr int rounds = 300;
  constexpr int busy_threads = 4;
  Client holder = client();
  Served control(*this, "control");
  Served measured(*this, "measured");
  std::atomic<bool> stop{false};
  const auto keep_busy = [&](Client& of, std::vector<std::jthread>& threads) {
    for (int i = 0; i < busy_threads; ++i) {
      threads.emplace_back([&of, &stop, i] {
        Lock own = of.make_lock("own" + std::to_string(i));
        while (!stop.load()) {
          const std::lock_guard hold(own);
        }
      });
    }
  };
  Lock held_control = holder.make_lock(control.name());
  Lock held_measured = holder.make_lock(measured.name());
  {
    std::vector<std::jthread> threads;
    keep_busy(measured.client(), threads);
    for (int i = 0; i < rounds; ++i) {
      control.round(held_control);
      measured.round(held_measured);
    }
    stop = true;
  }
  for (const std::size_t which : {50U, 90U, 99U}) {
    std::printf("hand-over, p%zu: %.0f us on an idle client, %.0f us beside %d busy threads\n",
                which, control.percent(which), measured.percent(which), busy_threads);
  }
  EXPECT_LE(measured.percent(99), 3 * control.percent(99));
}

TEST_F(LongRedisParkedWaiter, CostsTheOtherCallersOfItsClientNothing) {
  constexpr int rounds = 40;
  constexpr int cycles = 200;
  Client holder = client();
  Client one = client();
  Lock held = holder.make_lock("parked");
  Lock wanted = one.make_lock("parked");
  Lock own = one.make_lock("own");
  const auto cycle = [&] {
    const Instant began = BootClock::now();
    for (int i = 0; i < cycles; ++i) {
      const std::lock_guard hold(own);
    }
    return Micros(BootClock::now() - began).count() / cycles;
  };
  std::vector<double> alone;
  std::vector<double> beside;
  Worker waiter;
  for (int i = 0; i < rounds; ++i) {
    alone.push_back(cycle());
    held.lock();
    auto served = waiter.start([&] { const std::lock_guard hold(wanted); });
    ASSERT_TRUE(waiter.falls_asleep());
    beside.push_back(cycle());
    held.unlock();
    served.get();
  }
  std::printf("cycle, p50: %.1f us alone, %.1f us beside a parked waiter\n", percentile(alone, 50),
              percentile(beside, 50));
  // Two thread switches would be a third more.
  EXPECT_LE(percentile(beside, 50), 1.15 * percentile(alone, 50));
}

}  // namespace
}  // namespace mortise::fault
