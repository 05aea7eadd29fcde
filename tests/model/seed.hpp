// SPDX-License-Identifier: MIT
// Where the randomness of a test comes from: MORTISE_SEED, or else the system, and always printed,
// so that a failure can be replayed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

namespace mortise::model {

inline std::uint64_t test_seed() {
  const char* given = std::getenv("MORTISE_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
  std::cout << "MORTISE_SEED=" << seed << '\n';
  return seed;
}

}  // namespace mortise::model
