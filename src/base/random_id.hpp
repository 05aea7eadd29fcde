// SPDX-License-Identifier: MIT
// Random numbers that nobody guesses, for ids, and quick ones, for jitter.
#pragma once

#include <cstdint>

namespace mortise::base {

/// @return 64 bits from the kernel's generator (getrandom).
[[nodiscard]] std::uint64_t random_bits() noexcept;

/// A small generator (SplitMix64, G. Steele et al. 2014) for jitter and simulated faults; a seed
/// replays its sequence.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  /// @return a number from 0 (included) to 1 (excluded).
  double unit() noexcept { return static_cast<double>(next() >> 11U) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace mortise::base
