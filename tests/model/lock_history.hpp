// SPDX-License-Identifier: MIT
// The history test of the library: clients of any backend take locks while processes are killed and
// stopped and the store misbehaves; then everything heals, each client takes each name again, and
// the checker reads what they recorded. It judges nothing but through the checker and the tally.
#pragma once

#include "model/cast.hpp"
#include "model/checker.hpp"
#include "model/dice.hpp"
#include "model/stage.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mortise::model {

// A fault that only one kind of backend knows (connections killed at the server, a fail-over):
// brought about, and over when it returns. It must break no assumption of the promises.
struct Disturbance {
  std::string name;
  std::function<void(Stage&, Dice&)> bring_about;
};

// A backend as this test sees it. A later one adds itself with a file as short as
// memory_history_test.cpp.
struct HistoryBackend {
  using Need = contract::Need;

  contract::BackendUnderTest under_test;
  std::vector<Disturbance> disturbances = {};
  // As in Workload, for leases that end in real time.
  double oversleeps = 0;
  double long_holds = 0;
  std::chrono::milliseconds short_run{2500};  // time for most of its faults
  // Fewer say nothing. Outages, pauses and slow machines are in it.
  std::uint64_t fewest_grants_a_second = 20;
  // @return the fewest for a run of that length
  [[nodiscard]] std::uint64_t fewest_grants(std::chrono::milliseconds length) const {
    return fewest_grants_a_second * static_cast<std::uint64_t>(length.count()) / 1000;
  }

  [[nodiscard]] bool has(const Need& need) const { return under_test.has(need); }
};

inline const std::string& name_of(const HistoryBackend& backend) { return backend.under_test.name; }

// What a run may suffer.
struct Adversity {
  bool crashes = true;
  bool pauses = true;        // SIGSTOP beyond the lease, where there are processes and leases
  bool messages = true;      // lost and delayed, and the server unreachable
  bool disturbances = true;  // HistoryBackend::disturbances
  bool forgetting = false;   // the server forgets what it acknowledged: excuse losses
  bool robbed = false;       // a disturbance takes holds away, and nothing else: the same
};

struct Chronicle {
  Report report;
  std::vector<AcceptedWrite> writes;
  ResourceStatistics resource;
  std::uint64_t crashes = 0;
  std::uint64_t pauses = 0;
  std::uint64_t troubles = 0;                   // of the server or the way to it
  std::map<std::string, std::uint64_t> faults;  // all of them, by kind
  std::string cast_trouble;                     // why the client processes did not end well
  std::uint64_t grants = 0;
  std::uint64_t to_be_healed = 0;  // how many threads there are, times names where it is locks
  std::string figures;             // in words, for the log
};

// Runs `length` of faults, and then the end. `time` is the time of the stage; where it is by hand,
// it passes while the run lasts, about thirty times as fast as the real one. On a loaded machine
// the faults go on until the clients had `enough` grants, for at most five times the length.
Chronicle play(Stage& stage, const HistoryBackend& backend, const Adversity& adversity,
               std::chrono::milliseconds length, std::uint64_t enough = 0);

// MORTISE_HISTORY_SECONDS, or a minute.
[[nodiscard]] std::chrono::seconds length_of_long_runs();

}  // namespace mortise::model
