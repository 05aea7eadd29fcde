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

/// The medians of two sides that take turns in portions, each sample by itself.
template <class Ours, class Floor>
[[nodiscard]] std::pair<double, double> p50_in_turn(int portions, int portion, Ours&& ours,
                                                    Floor&& floor) {
  std::vector<double> of_ours;
  std::vector<double> of_floor;
  for (int i = -1; i < portions; ++i) {  // the first one warms up
    for (int j = 0; j < portion; ++j) of_ours.push_back(timed(1, ours));
    for (int j = 0; j < portion; ++j) of_floor.push_back(timed(1, floor));
    if (i < 0) of_ours.clear();
    if (i < 0) of_floor.clear();
  }
  return {median(std::move(of_ours)), median(std::move(of_floor))};
}

}  // namespace mortise::bench
