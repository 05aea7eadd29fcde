// SPDX-License-Identifier: MIT
#include "model/mixed_checker.hpp"

#include "model/holds.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

namespace mortise::model {
namespace {

std::vector<Event> ours_of(std::span<const Event> events) {
  std::vector<Event> ours;
  std::copy_if(events.begin(), events.end(), std::back_inserter(ours),
               [](const Event& event) { return event.process < first_stranger; });
  return ours;
}

// By the op of the acquisition; 0 where a hold is left out.
std::unordered_map<std::uint64_t, std::uint64_t> ranks_of(std::span<const Event> events) {
  std::vector<HoldRecord> holds = gather(events, false).holds;
  std::sort(holds.begin(), holds.end(), [](const HoldRecord& one, const HoldRecord& other) {
    return one.returned < other.returned;
  });
  std::unordered_map<std::uint64_t, std::uint64_t> ranks;
  std::uint64_t next = 1;
  for (const HoldRecord& hold : holds) ranks[hold.op] = hold.end > hold.returned ? next++ : 0;
  return ranks;
}

}  // namespace

std::string MixedReport::text() const {
  return "ours: " + ours.text() + "\n  all, in the order of their returns: " + all.text() + "; " +
         std::to_string(left_out) + " that were over when they returned left out";
}

MixedReport check_mixed(std::span<const Event> events, const CheckOptions& options) {
  MixedReport report;
  report.ours = check(ours_of(events), options);
  const std::unordered_map<std::uint64_t, std::uint64_t> ranks = ranks_of(events);
  std::vector<Event> ranked;
  for (Event event : events) {
    // What was written, with which token, is the other report's.
    if (event.operation == Operation::write) continue;
    const bool opens = event.operation == Operation::acquire;
    const auto found = ranks.find(opens ? event.op : event.hold);
    if (found != ranks.end()) {
      if (found->second == 0 && !opens) continue;
      event.token = event.phase == Phase::invoked && opens ? 0 : found->second;
      if (found->second == 0 && event.phase == Phase::returned) {
        event.outcome = Outcome::unknown;
        ++report.left_out;
      }
    }
    ranked.push_back(event);
  }
  report.all = check(ranked, options);
  return report;
}

MixedReport check_mixed(const HistoryFile& history, const CheckOptions& options) {
  MixedReport report = check_mixed(history.read(), options);
  report.all.faults += history.refused();
  return report;
}

}  // namespace mortise::model
