// SPDX-License-Identifier: MIT
// Which of the specials of PostgreSQL's stand is which, and how often each comes.
#pragma once

#include "simulation/scene/plan.hpp"
#include "simulation/scene/stands.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace simulation {

inline constexpr std::uint64_t a_lost_standby = 8;
inline constexpr std::uint64_t a_fail_over = 9;
inline constexpr std::uint64_t cancelled_waits = 12;
inline constexpr std::uint64_t ambushes = 13;  // and above
inline constexpr std::uint64_t a_slow_process = 21;

/// Those of the specials that differ, and which of them come more often, since hardly any of what
/// they make comes to something: waits that are cancelled, rights that are revoked while a copy
/// waits, with its connection and without, and a slow process.
inline constexpr std::size_t different = 25;
inline constexpr std::array<std::uint64_t, postgres_specials - different> more_often{
    cancelled_waits, 20, 21, 24};

inline std::uint64_t special_of(std::uint64_t which) {
  return which < different || which >= postgres_specials ? which : more_often.at(which - different);
}

inline std::uint64_t favourite_of(const Plan& plan, std::uint64_t drawn) {
  if (plan.again) return *plan.again;
  return plan.forgets ? a_fail_over : drawn;
}

}  // namespace simulation
