// SPDX-License-Identifier: MIT
#include "survey.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace mortise::tool {
namespace {

/// Two rows with the same key are the same hold. The token alone is not enough: a store may not
/// know it, and readers share one.
auto hold_of(const Row& row) {
  return std::tie(row.name, row.holder.token, row.holder.label, row.holder.mode);
}

bool precedes(const Row& one, const Row& other) { return hold_of(one) < hold_of(other); }

/// @return whether the survey has every hold of this name: the name is free, or the store was
/// asked.
bool knows(const Survey& survey, const HeldName& name) {
  const auto end = survey.names.begin() + static_cast<std::ptrdiff_t>(survey.asked);
  return std::find(end, survey.names.end(), name) == survey.names.end();
}

std::vector<Row> in_order(std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end(), precedes);
  return rows;
}

}  // namespace

Survey take_survey(const Client& client, const Order& order, std::size_t most) {
  Survey survey;
  survey.names = held_names(client, order).names;
  for (; survey.asked < survey.names.size() && survey.rows.size() < most; ++survey.asked) {
    const HeldName& name = survey.names[survey.asked];
    NameQueue queue = queue_of(client, order, name);
    for (HolderEntry& each : queue.holders) {
      survey.rows.push_back({name, std::move(each), queue.waiters_in_all});
    }
  }
  return survey;
}

std::vector<ChangedRow> changes(const Survey& before, const Survey& now) {
  const std::vector<Row> old_rows = in_order(before.rows);
  const std::vector<Row> new_rows = in_order(now.rows);
  std::vector<ChangedRow> changed;
  auto old = old_rows.begin();
  const auto end_old_until = [&](const Row* row) {
    for (; old != old_rows.end() && (row == nullptr || precedes(*old, *row)); ++old) {
      if (knows(now, old->name)) changed.push_back({*old, Change::ended});
    }
  };
  for (const Row& row : new_rows) {
    end_old_until(&row);
    if (old != old_rows.end() && hold_of(*old) == hold_of(row)) {
      changed.push_back({row, old->waiters == row.waiters ? Change::none : Change::waiters});
      ++old;
    } else {
      changed.push_back({row, knows(before, row.name) ? Change::began : Change::none});
    }
  }
  end_old_until(nullptr);
  return changed;
}

}  // namespace mortise::tool
