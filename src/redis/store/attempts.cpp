// SPDX-License-Identifier: MIT
#include "redis/store/attempts.hpp"

#include "base/mutant.hpp"

#include <utility>

namespace mortise::redis {
namespace {

using remote::AttemptCourse;

void take(AttemptCourse& course, const Push& push, const Reading& reading) {
  course.grant(push.number, reading.not_later_than(push.granted_at) + push.lease);
}

}  // namespace

std::optional<Push> Attempts::waits(const AttemptId& attempt, const Reading& reading,
                                    std::uint64_t number) {
  return on(attempt, [&](Entry& entry) -> std::optional<Push> {
    if (!entry.course.is_undecided()) return std::nullopt;
    Heard& heard = entry.part_of_store();
    entry.course.wait();
    std::optional<Push> early = heard.reply(reading, number);
    if (early) take(entry.course, *early, reading);
    return early;
  });
}

void Attempts::concluded(const AttemptId& attempt, std::uint64_t number) {
  on(attempt, [&](Entry& entry) {
    if (entry.course.is_undecided()) entry.part_of_store().conclude(number);
  });
}

std::uint64_t Attempts::conclusion_of(const AttemptId& attempt) {
  return on(attempt, [](Entry& entry) { return entry.more ? entry.more->concluded() : 0; });
}

Attempts::Verdict Attempts::granted(const Push& push) {
  using enum Verdict::Kind;
  return on(push.attempt, [&](Entry& entry) -> Verdict {
    AttemptCourse& course = entry.course;
    if (course.number() != 0) {
      if (base::mutant("redis.push_by_attempt")) {
        const bool again = entry.part_of_store().concluded() != 0;
        entry.part_of_store().conclude(1);
        return {.kind = again ? unwanted : known};
      }
      if (base::mutant("redis.release_without_number_check") && push.number != course.number()) {
        return {.kind = unwanted};  // with the script's half of it: no harm without
      }
      // The hold's own push, or the push of a grant before it. To release the grant of a
      // reply would end a hold that is in use.
      const bool is_known = course.grant(push.number, {}) == AttemptCourse::Meaning::known;
      return {.kind = is_known ? known : unwanted};
    }
    if (!course.is_undecided()) return {.kind = unwanted};
    Operation operation = entry.operation.lock();
    if (!operation) {
      course.finish();
      return {.kind = unwanted};
    }
    Heard& heard = entry.part_of_store();
    switch (heard.push(push)) {
      case Heard::Sense::over: return {.kind = known};
      case Heard::Sense::too_early: return {.kind = too_early, .operation = std::move(operation)};
      case Heard::Sense::unreadable: return {.kind = unreadable, .operation = std::move(operation)};
      case Heard::Sense::readable: break;
    }
    const Reading reading = heard.reading();
    take(course, push, reading);
    return {.kind = Verdict::Kind::believe, .operation = std::move(operation), .reading = reading};
  });
}

}  // namespace mortise::redis
