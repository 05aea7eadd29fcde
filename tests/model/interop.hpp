// SPDX-License-Identifier: MIT
// The history of two libraries on the same names of one store: client processes of ours, and of
// another library, of whom some are killed and some stopped, shorter and longer than their leases.
// Judged for what the pages promise: that ours and theirs exclude each other, as long as each has
// its lease; and that ours keep what they promise among themselves.
#pragma once

#include "model/guest.hpp"
#include "model/mixed_checker.hpp"
#include "model/stage.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace mortise::model {

struct Neighbours {
  // Starts one on a name of the stage's.
  std::function<test::Stranger(Stage& stage, const std::string& name)> start;
  std::chrono::milliseconds lease{3'000};
  std::uint32_t count = 3;
};

struct InteropChronicle {
  MixedReport report;
  GuestTally guests;
  std::uint32_t guests_healed = 0;  // who took their lock after the faults
  std::map<std::string, std::uint64_t> faults;
  std::string cast_trouble;
  std::string figures;
};

InteropChronicle play_beside(Stage& stage, const Neighbours& neighbours,
                             std::chrono::milliseconds length);

}  // namespace mortise::model
