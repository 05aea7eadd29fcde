// SPDX-License-Identifier: MIT
// How long timed calls went on after their time was up: so many for each millisecond, in memory
// that processes can share.
#pragma once

#include "simulation/world/random.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace simulation {

class OverRun {
 public:
  void add(Nanos time) noexcept {
    const auto ms = std::max<std::int64_t>(time.count() / 1'000'000, 0);
    ++calls_[std::min(static_cast<std::size_t>(ms), calls_.size() - 1)];
    longest_ = std::max(longest_, time);
  }
  OverRun& operator+=(const OverRun& other) noexcept {
    for (std::size_t i = 0; i < calls_.size(); ++i) calls_[i] += other.calls_[i];
    longest_ = std::max(longest_, other.longest_);
    return *this;
  }
  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t all = 0;
    for (const std::uint64_t each : calls_) all += each;
    return all;
  }
  /// @return whole milliseconds, below the true median by less than one.
  [[nodiscard]] std::size_t median() const noexcept {
    std::uint64_t before = 0;
    std::size_t at = 0;
    while (at + 1 < calls_.size() && (before += calls_[at]) * 2 < count()) ++at;
    return at;
  }
  [[nodiscard]] Nanos longest() const noexcept { return longest_; }

 private:
  std::array<std::uint64_t, 64> calls_{};  // the last one: or longer
  Nanos longest_{0};
};

}  // namespace simulation
