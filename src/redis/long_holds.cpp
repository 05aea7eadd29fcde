// SPDX-License-Identifier: MIT
// Two lines instead of a heap: whoever stands in one waits for as long as all before it, and so a
// hold that is short, as nearly all are, costs a place at the end of a line.
#include "redis/long_holds.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {
namespace {

// Nearly all holds are over by then; and so late it is learned at most.
constexpr std::chrono::milliseconds long_from{50};
constexpr std::chrono::milliseconds between_looks{900};
// Those of the same tenth of a second are looked at together: thousands of holds would wake a
// thread thousands of times a second.
using Tenths = std::chrono::duration<Instant::rep, std::deci>;

}  // namespace

bool LongHolds::began(HoldId hold, Instant now) {
  const std::lock_guard lock(mutex_);
  young_.push_back({.hold = std::move(hold), .due = now + long_from});
  const bool sooner = young_.back().due < next();
  show_next();
  return sooner;
}

std::size_t LongHolds::count_due(const Line& line, Instant now) {
  const auto end = std::partition_point(line.begin(), line.end(),
                                        [now](const Item& item) { return item.due <= now; });
  return static_cast<std::size_t>(end - line.begin());
}

void LongHolds::take(Line& line, Instant now, std::vector<HoldId>& into) {
  while (!line.empty() && line.front().due <= now) {
    into.push_back(std::move(line.front().hold));
    line.pop_front();
  }
}

std::vector<HoldId> LongHolds::due(Instant now) {
  std::vector<HoldId> all;
  if (now < next()) return all;
  const std::lock_guard lock(mutex_);
  all.reserve(count_due(young_, now) + count_due(long_, now));  // or none is forgotten
  take(young_, now, all);
  take(long_, now, all);
  show_next();
  return all;
}

void LongHolds::again(HoldId hold, Instant now) {
  const std::lock_guard lock(mutex_);
  const Instant due = std::chrono::ceil<Tenths>(now + between_looks);
  long_.push_back({.hold = std::move(hold), .due = due});
  show_next();
}

void LongHolds::show_next() {
  Instant next = never;
  if (!young_.empty()) next = young_.front().due;
  if (!long_.empty()) next = std::min(next, long_.front().due);
  next_.set(next);
}

}  // namespace mortise::redis
