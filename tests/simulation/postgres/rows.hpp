// SPDX-License-Identifier: MIT
// The rows of schema.sql.
#pragma once

#include "simulation/postgres/value.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace simulation::postgres {

/// Copies of an attempt before this one come too late, until then (seconds since 1970).
struct Tombstone {
  std::int64_t copy = 0;
  std::int64_t until = 0;
  friend bool operator==(const Tombstone&, const Tombstone&) = default;
};
using Tombstones = std::map<std::string, Tombstone, std::less<>>;  ///< by attempt

struct LockRow {
  std::string name{};
  std::int64_t number = 0;
  std::string attempt{};
  std::int64_t lease = 0;  ///< microseconds
  Moment expires_at = minus_infinity;
  std::string label{};
  Moment waiters_until = minus_infinity;
  std::optional<Tombstones> buried{};
  friend bool operator==(const LockRow&, const LockRow&) = default;
};

struct TicketRow {
  std::string name{};
  std::int64_t ticket = 0;
  std::string attempt{};
  Moment contact = 0;
  friend bool operator==(const TicketRow&, const TicketRow&) = default;
};

}  // namespace simulation::postgres
