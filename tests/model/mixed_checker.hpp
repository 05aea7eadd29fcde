// SPDX-License-Identifier: MIT
// Judges a history in which some holds have no token, since another library took them. Ours alone
// are checked as ever, with their tokens. Then all of them for exclusion alone: in place of tokens
// they are given the order in which they returned, and the same checker looks at that.
//
// Why that order is right. A hold is certain from its return to its end, where that is later. If a
// was certain, and b was granted after its end, then b returned after a: returned(a) < end(a) <=
// g(b) <= returned(b). So of two holds that both were certain for a while no other order than that
// of their returns can be good. A hold that was over when its call returned (a process that stood
// still beyond its lease in between) is certain at no instant and excludes nobody: it is left out.
#pragma once

#include "model/checker.hpp"
#include "model/history.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace mortise::model {

// Client processes of other libraries have indices from here on.
inline constexpr std::uint32_t first_stranger = 32'768;

struct MixedReport {
  Report ours;
  Report all;
  std::uint64_t left_out = 0;

  [[nodiscard]] bool ok() const noexcept { return ours.ok() && all.ok(); }
  [[nodiscard]] std::string text() const;
};

// For exclusive locks.
MixedReport check_mixed(std::span<const Event> events, const CheckOptions& options = {});
// The same, and refuses a file that turned events away.
MixedReport check_mixed(const HistoryFile& history, const CheckOptions& options = {});

}  // namespace mortise::model
