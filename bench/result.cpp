// SPDX-License-Identifier: MIT
#include "result.hpp"

#include "figure.hpp"

#include <algorithm>
#include <exception>

namespace mortise::bench {
namespace {

/// As the client's side.
auto measure(const auto& what, Mode mode) {
  const Placed placed(mode, Side::client);
  return what(mode);
}

void judge(Result& result, std::optional<double> goal) {
  const double ours = result.ours.value();
  if (!result.floor.rounds.empty()) {
    result.reference = result.floor.value();
    result.goal = goal;
  } else if (goal) {
    result.reference = goal;
    result.goal = 1;
  }
  if (!result.reference) return;
  result.ratio = ours / *result.reference;
  if (!result.goal) return;
  result.met = result.better == Better::lower ? *result.ratio <= *result.goal
                                              : *result.ratio >= *result.goal;
}

}  // namespace

double Series::value() const { return median(rounds); }

double Series::spread() const {
  const auto [low, high] = std::minmax_element(rounds.begin(), rounds.end());
  const double middle = value();
  return middle == 0 ? 0 : (*high - *low) / middle;
}

Result run(const Case& one, int rounds) {
  Result result{.name = one.name, .mode = one.mode, .unit = one.unit, .better = one.better};
  try {
    for (int round = 0; round < rounds; ++round) {
      if (one.both) {
        const Pair pair = measure(one.both, one.mode);
        result.ours.rounds.push_back(pair.ours);
        result.floor.rounds.push_back(pair.floor);
        continue;
      }
      result.ours.rounds.push_back(measure(one.ours, one.mode));
      if (one.floor) result.floor.rounds.push_back(measure(one.floor, one.mode));
    }
    judge(result, one.goal);
  } catch (const std::exception& error) {
    result.failure = error.what();
  }
  return result;
}

}  // namespace mortise::bench
