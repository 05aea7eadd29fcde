// SPDX-License-Identifier: MIT
#include "contention.hpp"

#include "figure.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <latch>
#include <stdexcept>
#include <thread>

namespace mortise::bench {
namespace {

constexpr std::chrono::milliseconds settling{100};

}  // namespace

Grants contend(int threads, const std::function<Baton(int)>& make,
               std::chrono::milliseconds length) {
  std::latch ready(threads + 1);
  std::atomic<bool> stop{false};
  std::vector<std::future<std::int64_t>> counts;
  counts.reserve(static_cast<std::size_t>(threads));
  for (int thread = 0; thread < threads; ++thread) {
    counts.push_back(std::async(std::launch::async, [&, thread] {
      const Baton baton = make(thread);
      ready.arrive_and_wait();
      std::int64_t count = 0;
      // Decided while it has the lock: in a ring no thread may leave a turn that was given to it.
      for (bool last = false; !last; ++count) {
        baton.take();
        last = stop.load(std::memory_order_relaxed);
        baton.give();
      }
      return count;
    }));
  }
  ready.arrive_and_wait();
  const RateMeter meter;
  std::this_thread::sleep_for(length);
  stop.store(true);
  std::int64_t sum = 0;
  std::int64_t smallest = INT64_MAX;
  std::int64_t largest = 0;
  for (std::future<std::int64_t>& count : counts) {
    const std::int64_t share = count.get();
    sum += share;
    smallest = std::min(smallest, share);
    largest = std::max(largest, share);
  }
  const Rate rate = meter.rate_of(static_cast<double>(sum));
  return {.per_second = rate.per_second,
          .evenness = static_cast<double>(smallest) / static_cast<double>(largest),
          .cpu_us = rate.cpu_us};
}

double cost_of_waiting(const Baton& holder, const std::vector<Baton>& waiters,
                       std::chrono::milliseconds window) {
  std::atomic<int> taken{0};
  std::vector<std::future<void>> threads;
  threads.reserve(waiters.size());
  holder.take();
  for (const Baton& waiter : waiters) {
    threads.push_back(std::async(std::launch::async, [&waiter, &taken] {
      waiter.take();
      taken.fetch_add(1);
      waiter.give();
    }));
  }
  std::this_thread::sleep_for(settling);
  const double percent = cpu_percent(window);
  const bool waited = taken.load() == 0;
  holder.give();
  for (std::future<void>& thread : threads) thread.get();
  if (!waited) throw std::runtime_error("a waiter got the lock while it was held");
  return percent;
}

}  // namespace mortise::bench
