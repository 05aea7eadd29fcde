// SPDX-License-Identifier: MIT
// The runs of a key, which is a lock whose file remembers: what a caller asks before it tries for
// the lock, and what it writes under the lock before the run begins.
//
// No caller gets an outcome that the disk may lose: the key would be run again although a caller
// knows its result. So a runner writes the record, flushes it, notes that it is settled, and only
// then frees the key. A caller that finds a record that is not settled, and the key free, does the
// rest for a runner that has died over it.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include "file/decision.hpp"
#include "file/held_file.hpp"
#include "file/key_page.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace mortise::file {

/// The clock by which keys are kept.
inline std::int64_t wall_milliseconds() noexcept {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

/// @return `recorded` with the record in a slot; `held` if the bytes are not those of the record:
/// it was written over, or is damaged.
[[nodiscard]] Decision answer_of(const LockFile& file, const KeySlot& slot, bool with_bytes);

/// @thread_safety none: part of an entry, under its mutex.
class KeyRuns {
 public:
  /// @param held outlives this
  explicit KeyRuns(HeldFile& held) noexcept : held_(held) {}

  /// Without the lock: reads the file, and looks whether it is still the one of its name.
  /// @param since the last record that is no news for the caller
  /// @return `held`: the caller has to try for the lock
  [[nodiscard]] Decision consult(const Acquisition::Request& request, std::uint64_t since);
  /// @return the last record that was looked at.
  [[nodiscard]] std::uint64_t last_seen() const noexcept { return last_seen_; }
  /// Tries to begin a run. After `consult()`.
  [[nodiscard]] Decision try_for(const Acquisition::Request& request, Instant counted_from,
                                 Nap& nap);
  /// The disk has the record of a runner that died: the next attempt finds it.
  [[nodiscard]] Decision mended();

 private:
  [[nodiscard]] Decision consult_held(const Acquisition::Request& request) const;
  [[nodiscard]] Decision answer(const Acquisition::Request& request, const KeyPage& page,
                                std::uint64_t since, bool held) const;
  [[nodiscard]] Decision begin(const Acquisition::Request& request, Instant counted_from);
  [[nodiscard]] Decision mend(const Acquisition::Request& request, const KeySlot& slot,
                              std::string_view bytes);
  [[nodiscard]] Decision write(const Acquisition::Request& request, Instant counted_from,
                               const KeyPage& page, const KeySlot* last);
  [[nodiscard]] Decision damaged() const;

  HeldFile& held_;
  std::uint64_t last_seen_ = 0;
};

}  // namespace mortise::file
