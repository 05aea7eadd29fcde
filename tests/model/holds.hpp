// SPDX-License-Identifier: MIT
// From events to holds: pairs returns with invokes, and finds for each acknowledged hold when it
// may have begun and when it may have ended at the earliest. It also says whether the events are a
// history at all; it compares no two holds (see checker.hpp for the definitions).
#pragma once

#include "model/history.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace mortise::model {

// `end` of a hold that was never given up.
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

enum class EndCause : std::uint8_t {
  open,      // nothing ended it
  released,  // its release was sent
  deadline,  // its own deadline passed
  loss,      // the holder was told of the loss
  death,     // its process was killed; only where there is no lease
  excused,   // lost at an unknown time, and the test allows for that
  written,   // not a hold but an accepted write: begins and ends in one instant
};

// An acknowledged hold (or accepted write): granted at an unknown instant in [invoked, returned],
// and kept at least until `end`.
struct HoldRecord {
  std::uint64_t op = 0;
  std::uint64_t token = 0;
  std::int64_t invoked = 0;
  std::int64_t returned = 0;
  std::int64_t end = never;
  std::uint32_t name = 0;
  std::uint32_t process = 0;
  std::uint32_t owner = 0;
  std::int32_t pid = 0;
  EndCause cause = EndCause::open;
  Shape shape = Shape::exclusive;

  // The earliest instant at which the next holder can have been granted the name.
  std::int64_t reach() const noexcept { return end > invoked ? end : invoked; }
};

struct Counts {
  std::uint64_t events = 0;
  std::uint64_t processes = 0;
  std::uint64_t names = 0;  // with at least one hold
  std::uint64_t attempts = 0;
  std::uint64_t granted = 0;
  std::uint64_t failed = 0;
  std::uint64_t unknown = 0;  // attempts whose outcome is unknown, or that never returned
  std::uint64_t releases = 0;
  std::uint64_t renewals = 0;
  std::uint64_t losses = 0;  // told, or learnt from a release
  std::uint64_t writes = 0;  // accepted by the resource
  std::uint64_t refused_writes = 0;
  std::uint64_t deaths = 0;
};

struct Gathered {
  std::vector<HoldRecord> holds;
  std::vector<HoldRecord> writes;
  Counts counts;
  std::int64_t origin = 0;             // time of the first event; reports count from it
  std::uint64_t malformed = 0;         // reasons why this is no history
  std::vector<std::string> sentences;  // the first of them, one sentence each
};

// `loss_excuses`: see CheckOptions.
Gathered gather(std::span<const Event> events, bool loss_excuses);

// "+1.234567890 s", counted from `origin`.
std::string at(std::int64_t time, std::int64_t origin);

}  // namespace mortise::model
