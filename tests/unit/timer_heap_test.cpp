// SPDX-License-Identifier: MIT
// Goal: the heap always shows what is due first, and forgets what is removed.
// Method: random operations beside a std::multimap, from a printed seed.
#include "core/timer_heap.hpp"

#include "base/random_id.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;

std::uint64_t seed() {
  const char* const given = std::getenv("MORTISE_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : base::random_bits();
}

TEST(TimerHeapTest, AgreesWithAnOrderedMap) {
  const std::uint64_t s = seed();
  SCOPED_TRACE("MORTISE_SEED=" + std::to_string(s));
  base::SplitMix random(s);
  std::array<Timer, 200> timers;
  std::map<const Timer*, Instant> model;
  TimerHeap heap;
  for (int step = 0; step < 20'000; ++step) {
    Timer& timer = timers[random.next() % timers.size()];
    if (random.next() % 3 == 0) {
      heap.remove(timer);
      model.erase(&timer);
    } else {
      const Instant due{Instant::duration(random.next() % 1000)};
      heap.set(timer, due);
      model[&timer] = due;
    }
    ASSERT_EQ(heap.size(), model.size());
    Instant first = never;
    for (const auto& [t, due] : model) first = std::min(first, due);
    ASSERT_EQ(heap.empty() ? never : heap.top().due, first);
  }
}

TEST(TimerHeapTest, RemovingATimerThatIsNotInItDoesNothing) {
  TimerHeap heap;
  Timer timer;
  heap.remove(timer);
  heap.set(timer, Instant(1s));
  heap.remove(timer);
  heap.remove(timer);
  EXPECT_TRUE(heap.empty());
}

}  // namespace
}  // namespace mortise::core
