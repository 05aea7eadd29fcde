// SPDX-License-Identifier: MIT
// One look of `mortise watch` at the store, and what has changed since the look before.
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

/// One look.
struct Survey {
  std::vector<HeldName> names;  ///< all that are held, in order
  std::size_t asked = 0;  ///< of how many of them, from the first on, the store told the holds
  std::vector<Row> rows;  ///< their holds, in the order of the names
};

/// @param most asks for further names only while there are fewer rows than this: each name costs
/// the store one question, and a screen shows a few of a hundred thousand names
/// @throws Error as `Client::list()` and `Client::queue()`
[[nodiscard]] Survey take_survey(const Client& client, const Order& order, std::size_t most);

/// What has become of a hold since the look before.
enum class Change {
  none,
  began,    ///< it was not there
  ended,    ///< it is no longer there
  waiters,  ///< the number of waiters for its name has changed
};

/// A row, and what has become of it.
struct ChangedRow {
  Row row;
  Change change = Change::none;
};

/// Compares two looks. A hold whose name was not asked about in one of the two looks has not
/// changed, as far as is known.
/// @return the rows of `now`, with those that have ended among them, in order
[[nodiscard]] std::vector<ChangedRow> changes(const Survey& before, const Survey& now);

}  // namespace mortise::tool
