// SPDX-License-Identifier: MIT
// What a session has done since its transaction began, so that it can be undone as a whole, or from
// a savepoint on.
#pragma once

#include "simulation/postgres/database.hpp"
#include "simulation/postgres/settings.hpp"
#include "simulation/postgres/tuple.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace simulation::postgres {

/// Of a row, and what this transaction had made of it before.
template <class Row>
struct Change {
  Tuple<Row>* tuple = nullptr;
  std::unique_ptr<Version<Row>> before{};
};

struct Undo {
  enum class Kind : std::uint8_t { claim, change, setting, local_setting };
  Kind kind = Kind::claim;
  TupleLocks* tuple = nullptr;
  bool had = false;  ///< a claim, or a version of its own, before
  Strength strength = Strength::key_share;
  std::variant<Change<LockRow>, Change<TicketRow>, Change<KeyRow>> change{};
  Setting setting = Setting::other;
  std::string text{};
};

struct Savepoint {
  std::string name{};
  std::size_t undo = 0;
  std::size_t notifications = 0;
};

struct Transaction {
  bool open = false;                 ///< one goes on
  bool block = false;                ///< between BEGIN and COMMIT
  bool failed = false;               ///< and has only to be rolled back
  Xid xid = 0;                       ///< once it has written or locked something
  std::optional<Commit> snapshot{};  ///< of repeatable read and above
  Moment statement_began = 0;
  std::uint64_t renewals_before = 0;
  std::vector<Undo> undo{};
  std::vector<Savepoint> savepoints{};
  std::vector<std::pair<std::string, std::string>> notifications{};
  Nanos in_line_since{0};  ///< to notify
  std::vector<std::string> listens{};
  bool unlistens = false;
  bool looks = false;     ///< and found that the lock is not to be had, or to be given up
  bool promised = false;  ///< something that has to be on disk
  std::vector<std::pair<std::string, std::int64_t>> ties{};  ///< to holds, by guard()

  [[nodiscard]] Commit sees_until() const noexcept { return snapshot.value_or(newest); }
};

}  // namespace simulation::postgres
