// SPDX-License-Identifier: MIT
// Taking a figure: clocks, and the median of many samples. A median, because an interrupt or
// another program makes single samples arbitrarily long and none shorter.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace mortise::bench {

/// @return nanoseconds of a clock that all processes of the machine share.
[[nodiscard]] inline std::int64_t now_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// @return the CPU time that this process has used, all threads together.
[[nodiscard]] std::chrono::duration<double> cpu_time() noexcept;
/// @return the part of one CPU, in per cent, that this process uses in the next `window`.
[[nodiscard]] double cpu_percent(std::chrono::milliseconds window);
/// @return the bytes of the heap that this process has allocated and not freed.
[[nodiscard]] double heap_in_use() noexcept;

/// How much a program does, and the CPU time that it needs for that.
struct Rate {
  double per_second = 0;
  double cpu_us = 0;  ///< microseconds of all threads of this process, for each operation
};

/// Measures a rate from its construction on.
class RateMeter {
 public:
  /// @param operations how many were done since then
  [[nodiscard]] Rate rate_of(double operations) const;

 private:
  std::int64_t began_ = now_ns();
  std::chrono::duration<double> used_ = cpu_time();
};

/// @return the middle one; the mean of the two where their number is even. Not of an empty list.
[[nodiscard]] double median(std::vector<double> values);

/// @return the nanoseconds of one `work()`, from `batch` of them in a row: reading the clock takes
/// as long as a short operation does.
template <class Work>
[[nodiscard]] double timed(int batch, Work&& work) {
  const std::int64_t began = now_ns();
  for (int i = 0; i < batch; ++i) work();
  return static_cast<double>(now_ns() - began) / batch;
}

/// @return the median of `samples` calls of `sample`, after a tenth as many for warming up.
template <class Sample>
[[nodiscard]] double p50(int samples, Sample&& sample) {
  for (int i = 0; i < samples / 10; ++i) static_cast<void>(sample());
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(samples));
  for (int i = 0; i < samples; ++i) values.push_back(sample());
  return median(std::move(values));
}

}  // namespace mortise::bench
