// SPDX-License-Identifier: MIT
// The state of one client for one name of a lock, a semaphore or a key: the file, the holds, the
// attempts that wait. Decides; completes nothing, so that no caller's code runs under its mutex.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include "file/decision.hpp"
#include "file/held_file.hpp"
#include "file/key_outcomes.hpp"
#include "file/key_runs.hpp"
#include "file/permits.hpp"
#include "file/readers.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::file {

/// @thread_safety every member may be called concurrently.
class Entry {
 public:
  /// @param common outlives the entry
  Entry(Common& common, std::string name) : held_(common, std::move(name)) {}

  /// Tries for an attempt, a new one or one that asks again; joins the waiters if it may wait.
  [[nodiscard]] Decision acquire(const std::shared_ptr<Acquisition>& operation,
                                 Instant counted_from);
  /// Tries again for a waiting attempt.
  [[nodiscard]] Decision retry(Acquisition& operation, Instant counted_from);
  /// Second half of a grant that is flushed; blocks as long as the disk does.
  [[nodiscard]] Decision settle(const AttemptId& attempt);
  /// Ends the wait of an attempt. @return false: too late, it owns the name
  [[nodiscard]] bool cancel(const Acquisition& operation);
  /// @return what to sleep on, if the attempt waits here.
  [[nodiscard]] std::optional<Nap> nap(const Acquisition& operation);

  /// Frees exactly this hold, or nothing.
  /// @param watched files that are moved away, and directories, are noticed otherwise
  [[nodiscard]] Released release(const HoldId& hold, bool watched);
  /// Of a key: writes the outcome, has the disk keep it, and frees the key, for exactly this hold;
  /// or finds that it has done so before. Blocks as long as the disk does.
  /// @param why of `Released::unknown`: nothing is recorded, or (`in_doubt`) an outcome may be
  [[nodiscard]] Released conclude(const HoldId& hold, const Conclusion& conclusion, Failure& why);
  /// Of a key: has it forgotten. @return `recorded` (as it was found), `held` (with the record),
  /// `retired`, `failed`
  [[nodiscard]] Decision forget();
  /// Frees the name if this attempt owns it, and forgets that it waits.
  void undo(const Acquisition& operation) noexcept;
  [[nodiscard]] bool owns(const HoldId& hold) const;
  /// @return whether an attempt waits that this client's readers exclude.
  [[nodiscard]] bool wanted() const;
  /// @return the holder, if it is an attempt of this client.
  [[nodiscard]] std::optional<Holder> own_holder() const;
  /// Ends holds whose file is not the one of its name any more. @return which these were
  [[nodiscard]] std::vector<HoldId> notice_losses();
  /// Gives a truncated file its page back, so that one can sleep on it.
  void repair() const;

  /// Frees everything for ever. @return the attempts that waited
  [[nodiscard]] std::vector<Waiter> close() noexcept;
  /// @return whether no attempt owned or waited just now.
  [[nodiscard]] bool idle() const noexcept { return !in_use_.load(); }
  /// Takes the entry out of use, if no attempt owns, waits or asks; it takes no attempts any more.
  [[nodiscard]] bool retire() noexcept;

 private:
  /// The mutex, for a change; notes at its end whether the entry is in use.
  class Change;

  [[nodiscard]] bool is_of_keys() const noexcept { return held_.common.mode == Mode::once; }
  /// Tries for it in its own mode. @param since of the waiter, if it is one
  [[nodiscard]] Decision try_for(const Acquisition& operation, Instant counted_from, Nap& nap,
                                 std::uint64_t& since);
  [[nodiscard]] Decision try_to_own(const Acquisition::Request& request, Instant counted_from,
                                    Nap& nap);
  [[nodiscard]] Decision note_owner(const Acquisition::Request& request, Instant counted_from);

  mutable std::mutex mutex_;
  HeldFile held_;
  Readers readers_{held_};
  Permits permits_{held_};
  KeyRuns runs_{held_};
  KeyOutcomes outcomes_{held_};
  bool closed_ = false;
  bool retired_ = false;
  std::atomic<bool> in_use_{false};  // written under the mutex
};

}  // namespace mortise::file
