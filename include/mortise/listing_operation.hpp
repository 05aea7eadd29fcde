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
  Listing(std::string prefix, std::string cursor, std::size_t limit)
      : prefix_(std::move(prefix)), cursor_(std::move(cursor)), limit_(limit) {}
  /// What each name begins with, of any bytes; empty = all.
  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }
  /// What the backend has put into the page before, or a stranger: to be looked at as such.
  [[nodiscard]] const std::string& cursor() const noexcept { return cursor_; }
  /// The most names, 1 to `longest_page`.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Completes it.
  void answered(NamePage page);
  /// @return the answer.
  [[nodiscard]] const NamePage& page() const noexcept { return page_; }

 private:
  std::string prefix_;
  std::string cursor_;
  std::size_t limit_;
  NamePage page_;
};

/// "Who holds this name, and who waits for it?"
class MORTISE_API QueueLook : public Operation {
 public:
  QueueLook(std::string name, std::size_t limit) : name_(std::move(name)), limit_(limit) {}
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The most holders, and the most waiters.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Completes it.
  void answered(NameQueue queue);
  /// @return the answer.
  [[nodiscard]] const NameQueue& queue() const noexcept { return queue_; }

 private:
  std::string name_;
  std::size_t limit_;
  NameQueue queue_;
};

/// "End this hold, whoever has it." Answered as an inspection: with the hold that was ended, or
/// with nothing, where it was over or never there. Said again, because an answer was lost, it ends
/// no hold that came after the one that it has found.
class MORTISE_API ForcedRelease : public Inspection {
 public:
  explicit ForcedRelease(std::string name, Token of = {}) : Inspection(std::move(name)), of_(of) {}
  /// The hold that is meant, and no other; 0 = whichever is found.
  [[nodiscard]] Token of() const noexcept { return of_; }
  /// @return whether that hold is the one. Of a token the store knows the grant alone, and not how
  /// often it was passed on inside its client.
  [[nodiscard]] bool means(Token found) const noexcept;

 private:
  Token of_;
};

}  // namespace mortise
