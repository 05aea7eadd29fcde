// SPDX-License-Identifier: MIT
// For backends: the questions of administrators, as requests that a backend completes.
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
  /// The first bytes of each name, of any value; empty means all names.
  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }
  /// The cursor of the previous page, as the backend made it, or any other text. Check it.
  [[nodiscard]] const std::string& cursor() const noexcept { return cursor_; }
  /// The largest number of names, 1 to `longest_page`.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// The kind of names: `exclusive` (locks), `permit` or `once`.
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

/// "Which clients hold this name, and which wait for it?"
class MORTISE_API QueueLook : public Operation {
 public:
  QueueLook(std::string name, std::size_t limit, Mode mode = Mode::exclusive)
      : name_(std::move(name)), limit_(limit), mode_(space_of(mode)) {}
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The largest number of holders, and of waiters.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// The kind of the name: `exclusive` (a lock), `permit` or `once`.
  [[nodiscard]] Mode mode() const noexcept { return mode_; }
  /// Completes it. The backend sets the mode of an entry for locks only. In the queue of a
  /// semaphore or a key each entry gets the mode of this request.
  void answered(NameQueue queue);
  /// @return the answer.
  [[nodiscard]] const NameQueue& queue() const noexcept { return queue_; }

 private:
  std::string name_;
  std::size_t limit_;
  Mode mode_;
  NameQueue queue_;
};

/// "End this hold of any owner." The answer is that of an inspection: the hold that was ended, or
/// nothing if it had already ended or never existed. A retry after a lost reply ends only the hold
/// that the first request found, and no later one.
///
/// A key whose run was ended stays pending, as after the death of its runner. The next caller runs
/// it with the next number.
class MORTISE_API ForcedRelease : public Inspection {
 public:
  explicit ForcedRelease(std::string name, Token of = {}, Mode mode = Mode::exclusive)
      : Inspection(std::move(name)), of_(of), mode_(space_of(mode)) {}
  /// The token of the hold to end; 0 means the hold that is found.
  [[nodiscard]] Token of() const noexcept { return of_; }
  /// The kind of the name: `exclusive` (a lock), `permit` or `once`. The library always sets the
  /// token of a permit.
  [[nodiscard]] Mode mode() const noexcept { return mode_; }
  /// @return true if this request means the hold with that token. The store knows only the grant of
  /// a token, and not how often the client passed the hold on.
  [[nodiscard]] bool means(Token found) const noexcept;

 private:
  Token of_;
  Mode mode_;
};

}  // namespace mortise
