// SPDX-License-Identifier: MIT
// The choice of the holds that a forced release ends, and its result.
#include "core/force_course.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"

#include <algorithm>
#include <utility>

namespace mortise::core {
namespace {

// Even with the longest labels, a store can report this many in one bounded look.
constexpr std::size_t holds_at_a_time = 500;
// The one that is meant may be anywhere among the permits of a semaphore.
constexpr std::size_t holds_to_find_one_among = 100'000;

}  // namespace

std::size_t ForceCourse::limit() const noexcept {
  return of_ ? holds_to_find_one_among : holds_at_a_time;
}

// The store knows only the grant of a token, and not how often the client passed the hold on.
ForceCourse::Do ForceCourse::step(Found event) {
  if (event.failure) return report(std::move(event.failure));
  holds_ = std::move(event.holds);
  more_ = !of_ && holds_.size() >= limit();
  if (!newest_) {
    newest_ = 0;
    for (const FoundHold& each : holds_) newest_ = std::max(*newest_, each.hold.number);
  }
  std::erase_if(holds_, [&](const FoundHold& each) {
    const bool meant = !of_ || number_of(of_) == number_of(each.holder.token);
    const bool newer = each.hold.number > *newest_;
    newer_ = newer_ || newer;
    return !meant || newer;
  });
  if (base::mutant("core.force_ends_one_hold") && holds_.size() > 1) holds_.resize(1);
  return holds_.empty() ? report(rest()) : Do::end;
}

ForceCourse::Do ForceCourse::step(const Ended& event) {
  Failure why;
  for (std::size_t i = 0; i < holds_.size(); ++i) {
    const Ended::Answer& answer = event.answers[i];
    if (answer.failure) {
      if (!why || answer.failure.code == Errc::in_doubt) why = answer.failure;
    } else if (answer.outcome != Released::was_lost) {
      ended_.push_back(std::move(holds_[i].holder));
    }
    if (answer.outcome != Released::released && base::mutant("core.force_takes_the_next")) {
      newest_.reset();
      return Do::find;
    }
  }
  if (why) return report(std::move(why));
  if (!more_) return report(rest());
  if (event.now < until_) return Do::find;
  return report({Errc::in_doubt, "the time was up before all holds were ended; call again"});
}

// Only a second look finds a newer hold, and the first one was cut short then.
Failure ForceCourse::rest() const {
  if (!newer_) return {};
  return {Errc::in_doubt, "the name has more holds than one look shows; call again"};
}

ForceCourse::Do ForceCourse::report(Failure why) {
  failure_ = std::move(why);
  if (failure_ && !ended_.empty()) failure_.code = Errc::in_doubt;
  return Do::report;
}

}  // namespace mortise::core
