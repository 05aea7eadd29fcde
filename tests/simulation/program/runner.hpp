// SPDX-License-Identifier: MIT
// Runs many seeds in processes of their own: a run leaves the threads of killed clients behind, may
// crash, and may never end.
#pragma once

#include "simulation/scene/scene.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace simulation {

/// What is run: a kind of store, and perhaps a mistake that is built in.
struct Subject {
  Kind kind{};
  std::string mutant;
};

/// A run that broke a promise, crashed or did not end.
struct Finding {
  Plan plan;
  Verdict verdict;
};

/// The sum of many runs.
struct Figures {
  std::uint64_t seeds = 0;
  std::uint64_t grants = 0;
  std::uint64_t events = 0;
  std::uint64_t requests = 0;
  double seconds_of_the_world = 0;
  std::array<std::uint64_t, Fault::kinds> faults{};
  std::array<OverRun, Fault::kinds> over_runs{};
  Figures& operator+=(const Figures& other) noexcept;
};

/// Runs one plan in a process of its own.
/// @param story gets the run in words; null = not wanted
[[nodiscard]] std::optional<Verdict> run_apart(const Subject& subject, const Plan& plan,
                                               std::vector<std::string>* story = nullptr);

/// How the time of a search is counted.
enum class Measure {
  wall,
  cpu  ///< of this process and those that it started: of one core, whatever else runs
};
/// @return what this process and its ended children have used.
[[nodiscard]] double seconds_of_cpu();

/// Runs seeds from `first` on, until the time is up, so many were run, or one is found.
/// @param progress called now and then with what was done so far
[[nodiscard]] std::optional<Finding> run_many(const Subject& subject, std::uint64_t first,
                                              std::uint64_t at_most, double seconds,
                                              Measure measure, unsigned jobs, Figures& figures,
                                              const std::function<void(const Figures&)>& progress);

/// Makes a failing run smaller as long as it breaks the same promise.
[[nodiscard]] Plan shorten(const Subject& subject, Finding finding, double seconds);

}  // namespace simulation
