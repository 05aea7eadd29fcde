// SPDX-License-Identifier: MIT
// The end of what a key remembers: an outcome is written, or the key is forgotten. Each takes two
// steps, and the disk is waited for in between: see key_runs.hpp.
#pragma once

#include <mortise/operation.hpp>

#include "file/decision.hpp"
#include "file/held_file.hpp"
#include "file/key_page.hpp"

#include <optional>

namespace mortise::file {

/// @thread_safety none: part of an entry, under its mutex. An entry unlocks it for the flush: only
/// `close()` frees the key in the meantime, and what is written by then stands.
class KeyOutcomes {
 public:
  /// @param held outlives this
  explicit KeyOutcomes(HeldFile& held) noexcept : held_(held) {}

  /// Writes the outcome of a run. @return empty: the disk has to keep it, then `settle()` it
  /// @param why of `unknown`: nothing is recorded, or (`in_doubt`) an outcome may be
  [[nodiscard]] std::optional<Released> write(const HoldId& hold, const Conclusion& conclusion,
                                              Failure& why);
  /// Frees the key. @param why the flush failed
  [[nodiscard]] Released settle(const HoldId& hold, const Conclusion& conclusion,
                                const LockFile& flushed, Failure& why);

  /// Writes that the key is forgotten. @return `flushing`, with the record as it was: the disk has
  /// to keep it, then `settle_absence()`. No attempt is its owner then. `recorded`, `held`,
  /// `failed`
  [[nodiscard]] Decision write_absence();
  /// Frees the key. @param why the flush failed
  void settle_absence(const LockFile& flushed, Failure& why);

 private:
  [[nodiscard]] Failure write_outcome(const Conclusion& conclusion, bool& lost);
  [[nodiscard]] Released find_outcome(const HoldId& hold, KeyState state, Failure& why);
  void note_settled(const LockFile& flushed, Failure& why) const;
  [[nodiscard]] Decision held_record() const;
  [[nodiscard]] Decision write_absence_locked();

  HeldFile& held_;
};

}  // namespace mortise::file
