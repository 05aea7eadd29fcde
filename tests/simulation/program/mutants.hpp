// SPDX-License-Identifier: MIT
// The deliberate mistakes that the simulation has to find.
#pragma once

#include "simulation/scene/plan.hpp"

#include <string>
#include <vector>

namespace simulation {

struct Mutant {
  std::string name;
  Kind kind{};        ///< of the store with which it is looked for
  std::string words;  ///< what it does
};

[[nodiscard]] const std::vector<Mutant>& all_mutants();

}  // namespace simulation
