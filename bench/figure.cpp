// SPDX-License-Identifier: MIT
#include "figure.hpp"

#include <malloc.h>

#include <algorithm>
#include <cassert>
#include <ctime>
#include <thread>

namespace mortise::bench {

std::chrono::duration<double> cpu_time() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

double cpu_percent(std::chrono::milliseconds window) {
  const std::int64_t began = now_ns();
  const auto used = cpu_time();
  std::this_thread::sleep_for(window);
  const double seconds = static_cast<double>(now_ns() - began) * 1e-9;
  return (cpu_time() - used).count() / seconds * 100;
}

double heap_in_use() noexcept {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

Rate RateMeter::rate_of(double operations) const {
  const double cpu = (cpu_time() - used_).count();
  const double seconds = static_cast<double>(now_ns() - began_) * 1e-9;
  return {.per_second = operations / seconds, .cpu_us = cpu / operations * 1e6};
}

double median(std::vector<double> values) {
  assert(!values.empty());
  const std::size_t half = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace mortise::bench
