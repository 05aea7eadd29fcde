// SPDX-License-Identifier: MIT
// The attempts of a client at Redis servers: their courses, and what pushes mean for them.
#pragma once

#include <mortise/operation.hpp>

#include "redis/store/answer.hpp"
#include "redis/store/heard.hpp"
#include "remote/courses.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace mortise::redis {

/// @thread_safety as remote::Courses
class Attempts final : public remote::Courses<Heard> {
 public:
  using Courses::Courses;

  /// By a reply, it waits. @param number see Heard::reply()
  /// @return a push that came before that reply, and is believed now
  std::optional<Push> waits(const AttemptId& attempt, const Reading& reading, std::uint64_t number);
  /// It waits for a key, and by a push, this grant of the key has ended with a conclusion.
  void concluded(const AttemptId& attempt, std::uint64_t number);
  /// @return the last of those; 0 = none.
  [[nodiscard]] std::uint64_t conclusion_of(const AttemptId& attempt);

  /// The server refused a request for it and did nothing.
  void refuse(const AttemptId& attempt) {
    on(attempt, [](Entry& entry) { entry.course.refuse(); });
  }
  /// @return the number of its hold; 0 = it has none.
  [[nodiscard]] std::uint64_t number_of(const AttemptId& attempt) const {
    return ask(attempt, [](const auto& course) { return course.number(); });
  }

  // As the members of AttemptCourse.
  void leave(const HoldId& hold) {
    on(hold.attempt, [&](Entry& entry) { entry.course.leave(hold.number); });
  }
  void give_up_release(const HoldId& hold) {
    on(hold.attempt, [&](Entry& entry) { entry.course.release(hold.number); });
  }
  std::optional<std::uint64_t> end(const AttemptId& attempt, std::uint64_t number, Instant now) {
    return on(attempt, [&](Entry& entry) { return entry.course.end(number, now); });
  }
  [[nodiscard]] bool stands(const HoldId& hold, Instant now) const {
    return ask(hold.attempt, [&](const auto& course) { return course.stands(hold.number, now); });
  }
  [[nodiscard]] bool confirm(const HoldId& hold, Instant now) {
    return on(hold.attempt, [&](Entry& entry) { return entry.course.confirm(hold.number, now); });
  }
  [[nodiscard]] bool is_rejected(const HoldId& hold) {
    const auto reject = [&](Entry& entry) {
      return std::optional(entry.course.reject(hold.number));
    };
    return on(hold.attempt, reject).value_or(true);
  }

  // Of what lost requests may have taken.

  /// The look found nothing that it would have to give back.
  void settle(const AttemptId& attempt) {
    on(attempt, [](Entry& entry) { entry.course.settle(); });
  }
  /// The meaning of a push.
  struct Verdict {
    enum class Kind {
      unwanted,    ///< no caller waits for the grant: release it
      believe,     ///< the operation has the lock, by that reading
      too_early,   ///< the reply by which its time can be read is under way
      unreadable,  ///< by the clock of a server that has not replied: ask for the attempt
      known,       ///< of a hold that is known, or of a grant that is over
    };
    Kind kind = Kind::unwanted;
    Operation operation{};
    Reading reading{};
  };
  Verdict granted(const Push& push);
};

}  // namespace mortise::redis
