// SPDX-License-Identifier: MIT
// A survey is one update of `mortise watch`. Two surveys are compared to mark the changes.
#pragma once

#include <mortise/client.hpp>

#include "asking.hpp"
#include "order.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace mortise::tool {

/// One hold, as one line of the table.
struct Row {
  HeldName name;
  HolderEntry holder;
  std::optional<std::size_t> waiters;  ///< for the name; empty: unknown
};

/// One update.
struct Survey {
  std::vector<HeldName> names;  ///< all that are held, in order
  std::size_t asked = 0;  ///< the store was asked for the holds of this many, from the first on
  std::vector<Row> rows;  ///< their holds, in the order of the names
};

/// @param most asks for further names only while there are fewer rows than this: each name costs
/// the store one question, and a screen shows a few of a hundred thousand names
/// @throws Error as `Client::list()` and `Client::queue()`
[[nodiscard]] Survey take_survey(const Client& client, const Order& order, std::size_t most);

/// The change of a hold since the survey before.
enum class Change {
  none,
  began,    ///< it was not there
  ended,    ///< it is no longer there
  waiters,  ///< the number of waiters for its name has changed
};

/// A row, and its change.
struct ChangedRow {
  Row row;
  Change change = Change::none;
};

/// Compares two surveys. If one of them did not ask for a name, its holds count as unchanged.
/// @return the rows of `now` and those that have ended, in order
[[nodiscard]] std::vector<ChangedRow> changes(const Survey& before, const Survey& now);

}  // namespace mortise::tool
