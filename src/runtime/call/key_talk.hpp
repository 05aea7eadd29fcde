// SPDX-License-Identifier: MIT
// What is said about a key inside a client: who asks for it, and whom the answer of one serves,
// too.
#pragma once

#include <mortise/operation.hpp>
#include <mortise/owner.hpp>
#include <mortise/record.hpp>

#include "core/verdict.hpp"

#include <chrono>
#include <cstdint>
#include <memory>

namespace mortise::runtime {

/// Of one key, under its slot's mutex. Callers of this process that want a key which has an outcome
/// already, or gets one, are not to ask the server one after the other for the same bytes. But an
/// answer may be given to those only whose call had begun when that was asked for: the key may have
/// been forgotten, and been run again, before the others came.
struct KeyTalk {
  std::uint64_t arrivals = 0;  ///< callers that have come to wait here
  std::uint64_t asked_at = 0;  ///< of those, how many when the requester asked the server
  std::shared_ptr<const Memory> memory{};  ///< what it asked; and by that the live run was granted
  Owner begun_by{};                        ///< `KeyCall::begun_by` of the live run
  std::uint64_t run = 0;                   ///< its number

  /// @return what everybody can know of the live run.
  [[nodiscard]] std::shared_ptr<const Record> record_of_run(std::uint64_t number) const {
    return std::make_shared<const Record>(Record{.state = KeyState::pending,
                                                 .run = run,
                                                 .number = number,
                                                 .fingerprint = memory->fingerprint,
                                                 .held = true});
  }
};

/// What a caller sees of a key when it comes.
struct KeyGlance {
  std::shared_ptr<const Record> runs{};  ///< the live run of this process; null: there is none
  bool own = false;                      ///< the asking thread waited for its begin
  bool others = false;                   ///< others of this process ask for the key now
  bool differs = false;                  ///< with another fingerprint, they or the run
};

/// What somebody has learned of a key.
struct KeyNews {
  std::shared_ptr<const Record> record;
  std::uint64_t asked_at = 0;  ///< `KeyTalk::arrivals` when that was asked for
  bool whole = true;           ///< the record has the bytes of its outcome
};

/// What one caller asks of a key, and what it gets. In the caller's frame; the slot's mutex guards
/// what others give it while it waits.
struct KeyCall {
  std::shared_ptr<const Memory> memory;
  /// The thread that waits for this call. A run belongs to its own owner, and not to that thread,
  /// which only must not wait for itself. Of a call without a thread: the owner of its run.
  Owner begun_by{};
  std::uint64_t arrival = 0;               ///< it came to wait as that one
  bool busy_here = false;                  ///< it did not: it found others of this process
  std::shared_ptr<const Record> record{};  ///< it is told this
  HoldId hold{};                           ///< or it is to run the key, by this hold
  std::chrono::nanoseconds lease{};        ///< with this lease
  std::uint64_t run = 0;                   ///< with this number

  /// @return whether what somebody learned by a request of that moment is an answer for this one.
  [[nodiscard]] bool served_by(const KeyNews& news) const noexcept {
    if (arrival > news.asked_at) return false;
    const core::Verdict verdict = core::judge(*memory, *news.record);
    return (verdict == core::Verdict::replay && news.whole) || verdict == core::Verdict::mismatch;
  }
  /// @return whether the record that this one was told has the bytes: of another request it has
  /// not.
  [[nodiscard]] bool told_the_bytes() const noexcept {
    return core::judge(*memory, *record) == core::Verdict::replay;
  }
  /// @return whether another caller may go on with this one's attempt.
  [[nodiscard]] bool agrees_with(const KeyCall& other) const noexcept {
    return memory->fingerprint == other.memory->fingerprint &&
           memory->repeat == other.memory->repeat && memory->keep == other.memory->keep;
  }
};

/// What a run leaves: the same for the store, and for those who are told.
struct KeyEnding {
  HoldId hold;
  std::chrono::nanoseconds lease;
  std::shared_ptr<const Conclusion> conclusion;
  std::shared_ptr<const Record> record;  ///< in the end: what stands
};

}  // namespace mortise::runtime
