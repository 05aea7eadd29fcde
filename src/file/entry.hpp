// SPDX-License-Identifier: MIT
// What one client knows of one name: the open file, the attempt that owns it, the attempts that
// wait. Decides; completes nothing, so that no caller's code runs under its mutex.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include "file/directory.hpp"
#include "file/lock_file.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::file {

/// What a request came to.
struct Outcome {
  enum class Kind : std::uint8_t {
    ignored,  ///< nothing to tell: the attempt is not, or no longer, waiting here
    retired,  ///< the entry is out of use: ask a new one
    granted,
    flushing,  ///< granted once `settle()` has made the disk keep it
    held,      ///< by somebody else
    failed,
  };
  Kind kind = Kind::ignored;
  Grant grant{};
  std::optional<Holder> holder{};
  Failure failure{};
};

/// What a waiter sleeps on, and from what value.
struct Nap {
  std::shared_ptr<WakeWord> sleepers;  ///< keeps the page mapped while somebody sleeps on it
  std::uint32_t seen = 0;
  /// Until then it leaves the lock to the waiter that our own release woke.
  Instant polite_until{};
};

/// An attempt that waits for the name.
struct Waiter {
  std::shared_ptr<Acquisition> operation;
  Nap nap;
};

/// @thread_safety every member may be called concurrently.
class Entry {
 public:
  /// @param directory outlives the entry
  /// @param in_use counts entries that are; outlives the entry
  Entry(const Directory& directory, std::string name, bool flush, std::atomic<std::size_t>& in_use)
      : directory_(directory), name_(std::move(name)), flush_(flush), count_in_use_(in_use) {}

  /// Tries for an attempt, a new one or one that asks again; joins the waiters where it may wait.
  [[nodiscard]] Outcome acquire(const std::shared_ptr<Acquisition>& operation,
                                Instant counted_from);
  /// Tries again for a waiting attempt.
  [[nodiscard]] Outcome retry(Acquisition& operation, Instant counted_from);
  /// Second half of a grant that is flushed; blocks as long as the disk does.
  [[nodiscard]] Outcome settle(const AttemptId& attempt);
  /// Ends the wait of an attempt. @return false: too late, it owns the name
  [[nodiscard]] bool cancel(const Acquisition& operation);
  /// @return what to sleep on, if the attempt waits here.
  [[nodiscard]] std::optional<Nap> nap(const Acquisition& operation) const;

  /// Frees exactly this hold, or nothing.
  /// @param watched files that are moved away, and directories, are noticed otherwise
  [[nodiscard]] Released release(const HoldId& hold, bool watched);
  /// Frees the name if this attempt owns it, and forgets that it waits.
  void undo(const Acquisition& operation) noexcept;
  [[nodiscard]] bool owns(const HoldId& hold) const;
  /// @return the holder, where it is an attempt of this client.
  [[nodiscard]] std::optional<Holder> own_holder() const;
  /// Ends a hold whose file is not the one of its name any more, and tells which that was.
  [[nodiscard]] std::optional<HoldId> notice_loss();
  /// Gives a truncated file its page back, so that one can sleep on it.
  void repair() const;

  /// Frees everything for ever. @return who waited
  [[nodiscard]] std::vector<Waiter> close() noexcept;
  /// @return whether nobody owned or waited just now.
  [[nodiscard]] bool idle() const noexcept { return !in_use_.load(); }
  /// Takes the entry out of use, if nobody owns, waits or asks; it takes no attempts any more.
  [[nodiscard]] bool retire() noexcept;

 private:
  struct Own {
    AttemptId attempt;
    Grant grant;
    bool settled = false;
  };

  /// The mutex, for a change; notes at its end whether the entry is in use.
  class Change;

  [[nodiscard]] std::vector<Waiter>::iterator find(const Acquisition& operation);
  [[nodiscard]] Outcome try_to_take(const Acquisition& operation, Instant counted_from, Nap& nap);
  [[nodiscard]] Outcome record(const Acquisition::Request& request, Instant counted_from);
  [[nodiscard]] bool matches(const HoldId& hold) const noexcept;
  void abandon() noexcept;

  const Directory& directory_;
  const std::string name_;
  const bool flush_;
  std::atomic<std::size_t>& count_in_use_;
  mutable std::mutex mutex_;
  std::shared_ptr<LockFile> file_;  // empty: not open, or found to be replaced
  std::optional<Own> owner_;        // implies file_
  std::vector<Waiter> waiters_;
  std::uint32_t polite_seen_ = 0;
  Instant polite_until_{};
  bool closed_ = false;
  bool retired_ = false;
  std::atomic<bool> in_use_{false};  // written under the mutex
};

}  // namespace mortise::file
