// SPDX-License-Identifier: MIT
// Who runs which key, by what an ensemble has committed, or is about to.
#pragma once

#include "simulation/zookeeper/ensemble.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace simulation {

class ZooKeeperRuns {
 public:
  ZooKeeperRuns(const zookeeper::Ensemble& ensemble, std::size_t keys)
      : ensemble_(ensemble), keys_(keys) {}

  struct Run {
    std::size_t key = 0;
    std::int64_t session = 0;
    std::string node{};       ///< of its runner
    std::uint64_t grant = 0;  ///< its number
  };
  /// @return one of those that go on.
  [[nodiscard]] std::optional<Run> any() const;
  /// @return all that a session has, and what it is about to begin.
  [[nodiscard]] std::vector<Run> of(std::int64_t session) const;
  /// @return nodes that are too many when nobody runs or wants a key; empty: there are none.
  [[nodiscard]] std::string leftovers() const;

 private:
  [[nodiscard]] std::optional<Run> of_key(std::size_t key) const;

  const zookeeper::Ensemble& ensemble_;
  const std::size_t keys_;
};

}  // namespace simulation
