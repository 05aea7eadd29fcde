// SPDX-License-Identifier: MIT
// All at once; else the first that is somebody else's, alone, and all at once again.
#include "core/acquire_all.hpp"

#include "core/figures.hpp"

namespace mortise::core {

AcquireAll::Action AcquireAll::ends(End end, std::size_t name) noexcept {
  next_ = {.what = Do::end, .name = name, .end = end};
  return {.what = Do::give_back, .name = 0};
}

AcquireAll::Action AcquireAll::ends_without(std::size_t name, Fate fate, bool cut_short) noexcept {
  if (fate == Fate::busy) return ends(End::contended, name);
  // Others held a name until the time was nearly up: the store has not had its time to answer.
  if (fate == Fate::unanswered && cut_short && contended_) return ends(End::contended, *contended_);
  return ends(End::failed, name);
}

AcquireAll::Action AcquireAll::step(const Flown& event) noexcept {
  if (event.worst == Fate::held) return {.what = Do::end, .end = End::held};
  const bool final = event.worst == Fate::failed || !may_wait_ || event.time_is_up;
  if (final) return ends_without(event.name, event.worst, event.cut_short);
  waits_for_ = event.name;
  std::size_t kept = 0;
  if (event.worst == Fate::busy) {
    contended_ = event.name;
    ++rounds_;
    // Not while a store is out of reach: that may take long, and nobody holds it up.
    if (rounds_ > rounds_with_nothing_held) kept = event.name;
  }
  next_ = {.what = Do::wait, .name = event.name};
  return {.what = Do::give_back, .name = kept};
}

AcquireAll::Action AcquireAll::step(const Waited& event) noexcept {
  if (event.fate != Fate::held) return ends_without(waits_for_, event.fate, event.cut_short);
  if (event.all_held) return {.what = Do::end, .end = End::held};
  // Its time went by while somebody else held that one.
  if (event.time_is_up) return ends(End::contended, contended_.value_or(waits_for_));
  return {.what = Do::fly};
}

}  // namespace mortise::core
