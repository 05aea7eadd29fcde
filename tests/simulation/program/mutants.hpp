// SPDX-License-Identifier: MIT
// The deliberate mistakes that the simulation has to find.
#pragma once

#include "simulation/scene/plan.hpp"

#include <string>
#include <vector>

namespace simulation {

struct Mutant {
  std::string name;
  std::vector<Kind> kinds;  ///< of stores with which it is looked for
};

[[nodiscard]] const std::vector<Mutant>& all_mutants();

}  // namespace simulation
