// SPDX-License-Identifier: MIT
// A case: one figure of the library, what it is compared with, and how good it must be.
#pragma once

#include "placement.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mortise::bench {

enum class Better { lower, higher };

/// Takes the figure of one round. Called on a thread that is placed as the client's side; what
/// plays the server, or the other side, places itself. Throws where the figure would mean nothing.
using Measure = std::function<double(Mode)>;

/// The figures of both sides of one round.
struct Pair {
  double ours = 0;
  double floor = 0;
};
/// Takes both at once, in turn by small portions, for what changes from second to second: a disk.
using MeasureBoth = std::function<Pair(Mode)>;

struct Case {
  std::string name{};  ///< "group/what"
  Mode mode = Mode::unpinned;
  std::string unit{};
  Better better = Better::lower;
  Measure ours{};
  /// The same work done raw, by a program of our own; empty = nothing to compare with.
  Measure floor{};
  /// In place of `ours` and `floor`.
  MeasureBoth both{};
  /// The limit of ours / floor; without a floor, of the figure itself; empty = for information.
  std::optional<double> goal{};
  /// Why this build cannot run it; empty where it can.
  std::string left_out{};
};

using Cases = std::vector<Case>;

/// Adds the case once for each mode.
inline void add(Cases& cases, std::initializer_list<Mode> modes, Case one) {
  for (const Mode mode : modes) {
    one.mode = mode;
    cases.push_back(one);
  }
}

// One for each group; a new backend adds its own here and in main.cpp.
void add_core_cases(Cases& cases);
void add_engine_cases(Cases& cases);
void add_file_cases(Cases& cases);
void add_redis_cases(Cases& cases);
void add_redlock_cases(Cases& cases);
void add_zookeeper_cases(Cases& cases);
void add_postgres_cases(Cases& cases);
void add_once_cases(Cases& cases);

}  // namespace mortise::bench
