// SPDX-License-Identifier: MIT
// One pass from the largest token down for the latest instants, and one through time that counts.
#include "model/counted.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace mortise::model {

namespace {

// Sorted by time, and ends first: whoever has ended at an instant is not counted in it.
struct Change {
  std::int64_t time;
  bool begins;
  std::size_t hold;

  bool operator<(const Change& other) const noexcept {
    return std::tie(time, begins, hold) < std::tie(other.time, other.begins, other.hold);
  }
};

std::vector<Change> changes_of(std::span<const HoldRecord* const> holds,
                               const CountedFaults& faults) {
  std::vector<Change> changes;
  const HoldRecord* first_back = nullptr;  // of the larger tokens, the one that returned first
  for (std::size_t i = holds.size(); i-- > 0;) {
    const HoldRecord& hold = *holds[i];
    std::int64_t late = hold.returned;
    if (first_back != nullptr && first_back->returned < hold.invoked) {
      faults.backwards(*first_back, hold);
    } else if (first_back != nullptr) {
      late = std::min(late, first_back->returned);
    }
    if (first_back == nullptr || hold.returned < first_back->returned) first_back = &hold;
    if (late >= hold.end) continue;
    changes.push_back({.time = late, .begins = true, .hold = i});
    changes.push_back({.time = hold.end, .begins = false, .hold = i});
  }
  std::sort(changes.begin(), changes.end());
  return changes;
}

}  // namespace

void count_permits(std::span<const HoldRecord* const> holds, std::uint32_t permits,
                   const CountedFaults& faults) {
  std::set<std::pair<std::int64_t, std::size_t>> held;  // by their ends
  for (const Change& change : changes_of(holds, faults)) {
    const HoldRecord& hold = *holds[change.hold];
    if (!change.begins) {
      held.erase({hold.end, change.hold});
      continue;
    }
    if (held.size() >= permits && !held.empty()) {
      faults.too_many(*holds[held.rbegin()->second], hold);
    } else if (permits == 0) {
      faults.too_many(hold, hold);
    }
    held.insert({hold.end, change.hold});
  }
}

}  // namespace mortise::model
