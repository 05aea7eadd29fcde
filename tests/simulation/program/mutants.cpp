// SPDX-License-Identifier: MIT
#include "simulation/program/mutants.hpp"

namespace simulation {

const std::vector<Mutant>& all_mutants() {
  static const std::vector<Mutant> all{};
  return all;
}

}  // namespace simulation
