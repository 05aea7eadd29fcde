// SPDX-License-Identifier: MIT
// What a comparison takes from its environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace simulation::zookeeper {

/// @return MORTISE_SEED, or any.
[[nodiscard]] inline std::uint64_t first_seed() {
  if (const char* const given = std::getenv("MORTISE_SEED"))
    return std::strtoull(given, nullptr, 10);
  return std::random_device{}();
}

/// After so many requests servers and clients begin anew.
inline constexpr std::size_t requests_a_chapter = 500;

/// @return MORTISE_REQUESTS, or as many as the test would.
[[nodiscard]] inline std::size_t requests_in_all(std::size_t otherwise) {
  const char* const given = std::getenv("MORTISE_REQUESTS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

}  // namespace simulation::zookeeper
