// SPDX-License-Identifier: MIT
// A request without an answer is sent again after half of the call's time; a confirmation is sent
// once.
#include "core/release_course.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"

namespace mortise::core {

ReleaseCourse::Action ReleaseCourse::step(const Left& event) noexcept {
  switch (event.exit) {
    case NameState::Exit::not_owner:
    case NameState::Exit::was_lost:
      // A caller without a hold frees none, as an empty guard does not.
      outcome_ = Released::was_lost;
      if (!plan_.written) return {.what = Do::end};
      outcome_ = Released::unknown;
      // The client asks for it no longer than this.
      patience_ = command_timeout(plan_.lease);
      may_repeat_ = false;
      return {.what = Do::confirm};
    case NameState::Exit::nested:
    case NameState::Exit::parted:
    case NameState::Exit::passed: outcome_ = Released::released; return {.what = Do::end};
    case NameState::Exit::release: break;
  }
  patience_ = command_timeout(event.lease) / 2;
  keeps_ = event.keeps;
  ends_hold_ = true;
  return {.what = event.keeps ? Do::keep : Do::release};
}

ReleaseCourse::Action ReleaseCourse::step(const Looked& event) noexcept {
  using Request = Looked::Request;
  repeated_ = repeated_ || event.sent_again;
  if (event.request == Request::over) return {.what = Do::settle};
  if (until_ == never) until_ = event.now + patience_;
  if (event.impatient) {
    had_its_time_ = false;
    return {.what = Do::settle};
  }
  if (event.request == Request::pending && event.now < until_) {
    return {.what = Do::await, .until = until_};
  }
  if (!may_repeat_) return {.what = Do::settle};
  may_repeat_ = false;
  until_ = event.now + patience_;
  return {.what = Do::repeat};
}

ReleaseCourse::Action ReleaseCourse::step(const Answered& event) noexcept {
  using By = Answered::By;
  if (event.by == By::released) outcome_ = Released::released;
  if (event.by == By::was_lost) outcome_ = released_or_lost(event);
  const bool forgets = event.by == By::nothing && base::mutant("core.release_is_not_repeated");
  // The client repeats nothing but the end of a hold.
  return {.what = event.gone || forgets || !ends_hold_ ? Do::end : Do::entrust};
}

// A repeated release finds nothing if the first one worked. A name that stays reserved is still
// there.
Released ReleaseCourse::released_or_lost(const Answered& event) const noexcept {
  if (!repeated_ || keeps_) return Released::was_lost;
  // The record of a run may be another one by now: another run came after a failure, or the key was
  // forgotten. A runner that gets `was_lost` has recorded nothing, so the call must not return
  // that. Of an outcome that the runner has written itself the store knows for certain that it is
  // absent.
  if (plan_.concludes) return plan_.written ? Released::was_lost : Released::unknown;
  // Inside the lease only the first release can have ended the hold.
  return event.lease_stands ? Released::released : Released::was_lost;
}

}  // namespace mortise::core
