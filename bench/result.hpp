// SPDX-License-Identifier: MIT
// What a case came to: rounds of ours and floor in turn, so that whatever else the machine does
// meets both alike.
#pragma once

#include "case.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mortise::bench {

/// One figure, taken in several rounds.
struct Series {
  std::vector<double> rounds;
  [[nodiscard]] double value() const;
  /// @return (largest - smallest) / median.
  [[nodiscard]] double spread() const;
};

struct Result {
  std::string name;
  Mode mode = Mode::unpinned;
  std::string unit;
  Better better = Better::lower;
  Series ours{};
  Series floor{};  ///< empty where nothing was measured
  /// The measured floor, or the goal where that is absolute.
  std::optional<double> reference{};
  std::optional<double> ratio{};
  std::optional<double> goal{};  ///< of the ratio; 1 where it is absolute
  std::optional<bool> met{};
  std::string failure{};  ///< why there are no figures
};

/// Runs a case.
[[nodiscard]] Result run(const Case& one, int rounds);

}  // namespace mortise::bench
