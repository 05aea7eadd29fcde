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
#include <vector>

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

/// By which further properties a backend recognises a hold that it reports.
struct HoldMark {
  AttemptId attempt{};  ///< of the hold; empty if the store does not report it
  /// Bytes that only the backend reads, if attempt and number do not identify the hold.
  std::string mark{};
};

/// "Which clients hold this name, and which wait for it?"
class MORTISE_API QueueLook : public Operation {
 public:
  QueueLook(std::string name, std::size_t limit, Mode mode = Mode::exclusive)
      : name_(std::move(name)), limit_(limit), mode_(space_of(mode)) {}
  /// The first step of a forced release: the holds are to be ended.
  /// @param of the token of the hold to end; 0 means every hold
  QueueLook(std::string name, std::size_t limit, Mode mode, Token of)
      : QueueLook(std::move(name), limit, mode) {
    of_ = of;
    identifies_ = true;
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The largest number of holders, and of waiters: 1 to `longest_page`, or more if `identifies()`.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// The kind of the name: `exclusive` (a lock), `permit` or `once`.
  [[nodiscard]] Mode mode() const noexcept { return mode_; }
  /// @return true for the first step of a forced release: `Enforcer::find()`. The backend may leave
  /// out the waiters then.
  [[nodiscard]] bool identifies() const noexcept { return identifies_; }
  /// The token of the hold to end; 0 means every hold. The backend may leave out holds with other
  /// tokens.
  [[nodiscard]] Token of() const noexcept { return of_; }
  /// Completes it. The backend sets the mode of an entry for locks only. In the queue of a
  /// semaphore or a key each entry gets the mode of this request.
  /// @param marks one for each holder, or none: then the number in its token identifies each hold
  void answered(NameQueue queue, std::vector<HoldMark> marks = {});
  /// @return the answer.
  [[nodiscard]] const NameQueue& queue() const noexcept { return queue_; }
  /// @return the holders of the answer, as `Release` takes them.
  [[nodiscard]] std::vector<FoundHold> holds() const;

 private:
  std::string name_;
  std::size_t limit_;
  Mode mode_;
  bool identifies_ = false;
  Token of_{};
  NameQueue queue_;
  std::vector<HoldMark> marks_;
};

}  // namespace mortise
