// SPDX-License-Identifier: MIT
// The chances of a run, drawn from its seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace mortise::model {

class Dice {
 public:
  // Different parts of a run hand in different numbers, and are independent of each other.
  explicit Dice(std::uint64_t seed, std::uint32_t process = 0, std::uint32_t owner = 0) {
    std::seed_seq mixed{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U),
                        process, owner};
    engine_.seed(mixed);
  }

  bool chance(double probability) { return std::bernoulli_distribution(probability)(engine_); }
  std::uint32_t below(std::uint32_t end) {
    return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(engine_);
  }
  std::chrono::nanoseconds between(std::chrono::nanoseconds from, std::chrono::nanoseconds to) {
    return std::chrono::nanoseconds(
        std::uniform_int_distribution<std::int64_t>(from.count(), to.count())(engine_));
  }
  std::uint64_t number() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace mortise::model
