// SPDX-License-Identifier: MIT
// One forced release as a machine: what happened goes in, what is to be done comes out. It finds
// the holds of a name, and ends exactly these. runtime/listing carries its actions out.
#pragma once

#include <mortise/error.hpp>
#include <mortise/listing_operation.hpp>
#include <mortise/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mortise::core {

/// `start()` is the first action, and each event the answer to the action before it.
class ForceCourse {
 public:
  enum class Do : std::uint8_t {
    find,    ///< ask the store for at most `limit()` holds, until `until()` -> Found
    end,     ///< send a release by force for each of `holds()`, and wait until `until()` -> Ended
    report,  ///< the call is over: `ended()` and `failure()`
  };
  struct Found {
    Failure failure{};  ///< why there is no answer; the question has changed nothing
    std::vector<FoundHold> holds{};
  };
  struct Ended {
    struct Answer {
      Failure failure{};  ///< why there is none; `in_doubt` if it did not come in time
      Released outcome = Released::unknown;
    };
    std::vector<Answer> answers{};  ///< one for each of `holds()`
    Instant now{};
  };

  /// @param of the token of the hold that is meant; 0 = every hold
  /// @param until when the caller's time is up
  ForceCourse(Token of, Instant until) noexcept : of_(of), until_(until) {}
  [[nodiscard]] Token of() const noexcept { return of_; }
  [[nodiscard]] Instant until() const noexcept { return until_; }
  [[nodiscard]] std::size_t limit() const noexcept;
  /// @return the holds that are to be ended.
  [[nodiscard]] const std::vector<FoundHold>& holds() const noexcept { return holds_; }

  [[nodiscard]] static Do start() noexcept { return Do::find; }
  Do step(Found event);
  Do step(const Ended& event);

  /// @return the holders whose holds were ended, in the order in which the store reported them.
  [[nodiscard]] const std::vector<Holder>& ended() const noexcept { return ended_; }
  /// @return why not everything was ended that had to be; `in_doubt` if some of it may have.
  [[nodiscard]] const Failure& failure() const noexcept { return failure_; }

 private:
  /// @return why the holds that are left may have been there at the first look.
  [[nodiscard]] Failure rest() const;
  Do report(Failure why);

  const Token of_;
  const Instant until_;
  std::vector<FoundHold> holds_;
  bool more_ = false;                    // the store may have had no room for others that it has
  std::optional<std::uint64_t> newest_;  // the largest number of those that were found first
  bool newer_ = false;                   // a hold with a larger one was found and left alone
  std::vector<Holder> ended_;
  Failure failure_;
};

}  // namespace mortise::core
