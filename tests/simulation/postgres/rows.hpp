// SPDX-License-Identifier: MIT
// The rows of schema.sql, once_tables.sql and share_tables.sql. Those of `run`, `gate` and `share`,
// and their tickets, are kept beside those of `lock`, by names that no test gives to a lock.
#pragma once

#include "simulation/postgres/value.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace simulation::postgres {

struct LockRow {
  std::string name{};
  std::int64_t number = 0;
  std::string attempt{};
  std::int64_t lease = 0;  ///< microseconds
  Moment expires_at = minus_infinity;
  std::string label{};
  Moment waiters_until = minus_infinity;
  bool owns = false;  ///< of `share`
  friend bool operator==(const LockRow&, const LockRow&) = default;
};

constexpr std::string_view before_a_key{"\0run\0", 5};
[[nodiscard]] inline std::string run_name(std::string_view key) {
  return std::string(before_a_key) + std::string(key);
}
[[nodiscard]] constexpr bool is_run(std::string_view name) noexcept {
  return name.starts_with(before_a_key);
}
constexpr std::string_view before_a_gate{"\0gate\0", 6};
[[nodiscard]] inline std::string gate_name(std::string_view semaphore) {
  return std::string(before_a_gate) + std::string(semaphore);
}
[[nodiscard]] constexpr bool is_gate(std::string_view name) noexcept {
  return name.starts_with(before_a_gate);
}
/// @return the name of a lock; of a row of `run`, its key; of `gate`, its semaphore.
[[nodiscard]] constexpr std::string_view outer_name(std::string_view name) noexcept {
  if (is_gate(name)) return name.substr(before_a_gate.size());
  return is_run(name) ? name.substr(before_a_key.size()) : name;
}
/// Of `share`, and of `gate_share`: those of one name are one behind the other.
constexpr std::string_view before_a_share{"\0share\0", 7};
[[nodiscard]] inline std::string share_name(std::string_view name, std::string_view attempt) {
  return std::string(before_a_share) + std::string(name) + '\0' + std::string(attempt);
}
[[nodiscard]] constexpr bool is_share(std::string_view name) noexcept {
  return name.starts_with(before_a_share);
}
/// What is in front of the label of a row that is shared.
[[nodiscard]] inline std::string mark_of(std::int64_t permits) {
  std::string bytes{'\1'};
  if (permits == 0) return bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(permits >> shift);
  return bytes;
}
[[nodiscard]] inline std::optional<std::int64_t> permits_in(std::string_view label) {
  constexpr std::size_t size = sizeof(std::int64_t);
  if (label.size() <= size) return std::nullopt;
  std::uint64_t permits = 0;
  for (const char each : label.substr(1, size)) {
    permits = permits << 8U | static_cast<unsigned char>(each);
  }
  return static_cast<std::int64_t>(permits);
}
/// @return the label without what is in front of it
[[nodiscard]] inline std::string label_in(const LockRow& row) {
  const std::size_t mark = is_gate(row.name) ? 1 + sizeof(std::int64_t) : 1;
  return row.label.size() < mark ? std::string() : row.label.substr(mark);
}

/// Of `once`: what is remembered of a key. And of `run_floor`, with a state of its own.
struct KeyRow {
  static constexpr char a_floor = 0;
  std::string name{};  ///< the key
  char state = '-';
  std::int64_t run = 0;
  std::int64_t number = 0;
  Moment kept_until = infinity;
  std::string fingerprint{};
  std::string bytes{};
  /// What stood before a run that is pending: see release_key().
  struct Stood {
    char state = 0;  ///< 0: nothing
    std::int64_t run = 0;
    std::int64_t number = 0;
    Moment kept_until = 0;
    friend bool operator==(const Stood&, const Stood&) = default;
  };
  Stood stood{};
  friend bool operator==(const KeyRow&, const KeyRow&) = default;
};
constexpr int floors = 8;
[[nodiscard]] inline std::string floor_name(int place) {
  return std::string("\0floor", 6) + std::to_string(place);
}

struct TicketRow {
  std::string name{};
  std::int64_t ticket = 0;
  std::string attempt{};
  Moment contact = 0;
  bool reads = false;
  friend bool operator==(const TicketRow&, const TicketRow&) = default;
};

}  // namespace simulation::postgres
