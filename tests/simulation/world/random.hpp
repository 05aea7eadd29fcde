// SPDX-License-Identifier: MIT
// The luck of a run. Each part of the world draws from a stream of its own, named by what it is, so
// that leaving one fault out of a run does not change what happens elsewhere.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace simulation {

using namespace std::chrono_literals;
using Nanos = std::chrono::nanoseconds;

/// SplitMix64 (Steele, Lea, Flood 2014): one word of state, good enough to choose faults.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) noexcept : state_(seed) {}
  /// A stream for one thing of a run: `Random::of({seed, kind, number})`.
  [[nodiscard]] static Random of(std::initializer_list<std::uint64_t> names) noexcept {
    Random mixed;
    for (const std::uint64_t name : names) mixed.state_ = mixed.next() ^ Random(name).next();
    return mixed;
  }

  std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// @return 0 to `limit` - 1.
  std::uint64_t below(std::uint64_t limit) noexcept { return limit == 0 ? 0 : next() % limit; }
  /// @return 0 to 1.
  double unit() noexcept { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }
  bool chance(double probability) noexcept { return unit() < probability; }
  Nanos between(Nanos least, Nanos most) noexcept {
    return least + Nanos(below(static_cast<std::uint64_t>((most - least).count()) + 1));
  }
  /// Short ones as often as long ones: spread evenly over the orders of magnitude.
  Nanos spread(Nanos least, Nanos most) noexcept {
    const double low = std::log(static_cast<double>(least.count()));
    const double high = std::log(static_cast<double>(most.count()));
    return Nanos(static_cast<std::int64_t>(std::exp(low + (high - low) * unit())));
  }

 private:
  std::uint64_t state_;
};

}  // namespace simulation
