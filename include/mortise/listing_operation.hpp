// SPDX-License-Identifier: MIT
// For backends: what administrators ask, as requests that a backend completes.
#pragma once

#include <mortise/export.hpp>
#include <mortise/listing.hpp>
#include <mortise/operation.hpp>
#include <mortise/token.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace mortise {

/// "Which names are held?", one page.
class MORTISE_API Listing : public Operation {
 public:
  Listing(std::string prefix, std::string cursor, std::size_t limit, Mode mode = Mode::exclusive)
      : prefix_(std::move(prefix)),
        cursor_(std::move(cursor)),
        limit_(limit),
        mode_(space_of(mode)) {}
  /// What each name begins with, of any bytes; empty = all.
  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }
  /// What the backend has put into the page before, or a stranger: to be looked at as such.
  [[nodiscard]] const std::string& cursor() const noexcept { return cursor_; }
  /// The most names, 1 to `longest_page`.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Which space of names: `exclusive` (locks), `permit` or `once`.
  [[nodiscard]] Mode mode() const noexcept { return mode_; }
  /// Completes it.
  void answered(NamePage page);
  /// @return the answer.
  [[nodiscard]] const NamePage& page() const noexcept { return page_; }

 private:
  std::string prefix_;
  std::string cursor_;
  std::size_t limit_;
  Mode mode_;
  NamePage page_;
};

/// "Who holds this name, and who waits for it?"
class MORTISE_API QueueLook : public Operation {
 public:
  QueueLook(std::string name, std::size_t limit, Mode mode = Mode::exclusive)
      : name_(std::move(name)), limit_(limit), mode_(space_of(mode)) {}
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The most holders, and the most waiters.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Whose name it is: `exclusive` (a lock's), `permit` or `once`.
  [[nodiscard]] Mode mode() const noexcept { return mode_; }
  /// Completes it. The backend sets the mode of an entry for locks only: in the queue of a
  /// semaphore or a key each entry has the mode of the look.
  void answered(NameQueue queue);
  /// @return the answer.
  [[nodiscard]] const NameQueue& queue() const noexcept { return queue_; }

 private:
  std::string name_;
  std::size_t limit_;
  Mode mode_;
  NameQueue queue_;
};

/// "End this hold, whoever has it." Answered as an inspection: with the hold that was ended, or
/// with nothing, where it was over or never there. Said again, because an answer was lost, it ends
/// no hold that came after the one that it has found.
///
/// A key whose run was ended stays pending, as after the death of its runner: the next caller runs
/// it, with the next number.
class MORTISE_API ForcedRelease : public Inspection {
 public:
  explicit ForcedRelease(std::string name, Token of = {}, Mode mode = Mode::exclusive)
      : Inspection(std::move(name)), of_(of), mode_(space_of(mode)) {}
  /// The hold that is meant, and no other; 0 = whichever is found.
  [[nodiscard]] Token of() const noexcept { return of_; }
  /// Whose name it is: `exclusive` (a lock's), `permit` or `once`. The library sets the token of a
  /// permit.
  [[nodiscard]] Mode mode() const noexcept { return mode_; }
  /// @return whether that hold is the one. Of a token the store knows the grant alone, and not how
  /// often it was passed on inside its client.
  [[nodiscard]] bool means(Token found) const noexcept;

 private:
  Token of_;
  Mode mode_;
};

}  // namespace mortise
