// SPDX-License-Identifier: MIT
// A row with its versions, and who has locked it: the rules of "Row-Level Locks" (13.3.2) and of
// read committed (13.2.1). `xmax` is kept as far as take.sql looks at it: 0 = this version was
// never locked, else who did it last, also after its end; several at once are a number of their
// own.
#pragma once

#include "simulation/postgres/rows.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace simulation::postgres {

class Session;
using Xid = std::uint64_t;
/// The moment of a commit, counted.
using Commit = std::uint64_t;
constexpr Commit newest = UINT64_MAX;

/// By strength; an update of a key column is `update`, any other one `no_key_update`.
enum class Strength : std::uint8_t { key_share, share, no_key_update, update };

[[nodiscard]] constexpr bool conflict(Strength one, Strength other) noexcept {
  const Strength weak = std::min(one, other);
  const Strength strong = std::max(one, other);
  if (strong == Strength::update) return true;
  return strong == Strength::no_key_update && weak >= Strength::share;
}

struct Claim {
  Session* by = nullptr;
  Strength strength = Strength::key_share;
  /// The last commit before it had at least that strength.
  std::array<Commit, 4> since{newest, newest, newest, newest};

  void rise(Strength to, Commit now) noexcept {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(to); ++i)
      since[i] = std::min(since[i], now);
    strength = to;
  }
  void fall(Strength to) noexcept {
    for (std::size_t i = static_cast<std::size_t>(to) + 1; i < since.size(); ++i) since[i] = newest;
    strength = to;
  }
  /// @return whether it was in the way of `other` already before that commit.
  [[nodiscard]] bool was_in_the_way(Strength other, Commit before) const noexcept {
    for (std::size_t i = 0; i < since.size(); ++i) {
      if (since[i] < before && conflict(static_cast<Strength>(i), other)) return true;
    }
    return false;
  }
};

/// What does not depend on what is in the row.
struct TupleLocks {
  Xid xmin = 0;  ///< of the newest committed version
  Xid xmax = 0;
  Xid pending_xmin = 0;  ///< of the one that `writer` has made
  Xid pending_xmax = 0;
  Session* writer = nullptr;
  std::vector<Claim> claims{};  ///< the strongest of each
  std::deque<Claim> waiters{};

  [[nodiscard]] const Claim* claim_of(const Session* session) const noexcept {
    const auto found = std::find_if(claims.begin(), claims.end(),
                                    [&](const Claim& each) { return each.by == session; });
    return found == claims.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool free_for(const Session* session, Strength strength) const noexcept {
    return std::none_of(claims.begin(), claims.end(), [&](const Claim& each) {
      return each.by != session && conflict(each.strength, strength);
    });
  }
  [[nodiscard]] bool others(const Session* session) const noexcept {
    return std::any_of(claims.begin(), claims.end(),
                       [&](const Claim& each) { return each.by != session; });
  }
};

/// @return whether a unique index that others look at has what changes.
[[nodiscard]] inline bool changes_key(const LockRow& from, const LockRow& to) noexcept {
  return from.number != to.number;
}
[[nodiscard]] inline bool changes_key(const KeyRow& /*from*/, const KeyRow& /*to*/) noexcept {
  return false;
}

template <class Data>
struct Version {
  Data data{};
  Commit commit = 0;
  bool gone = false;  ///< deleted
  bool key = false;   ///< its writer had the row locked FOR UPDATE, as one has who changes the key
};

template <class Data>
struct Tuple : TupleLocks {
  std::vector<Version<Data>> history{};  ///< committed, the newest last
  std::optional<Version<Data>> pending{};

  [[nodiscard]] const Version<Data>* committed(Commit snapshot = newest) const noexcept {
    for (auto each = history.rbegin(); each != history.rend(); ++each) {
      if (each->commit <= snapshot) return &*each;
    }
    return nullptr;
  }
  /// @return what this session sees; null = no row.
  [[nodiscard]] const Data* seen_by(const Session* session, Commit snapshot) const noexcept {
    const Version<Data>* const version =
        pending && writer == session ? &*pending : committed(snapshot);
    return version == nullptr || version->gone ? nullptr : &version->data;
  }
};

using LockTuple = Tuple<LockRow>;
using TicketTuple = Tuple<TicketRow>;
using KeyTuple = Tuple<KeyRow>;

}  // namespace simulation::postgres
