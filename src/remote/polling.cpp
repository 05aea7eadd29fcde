// SPDX-License-Identifier: MIT
#include "remote/polling.hpp"

#include "base/poll_sources.hpp"

#include <chrono>

namespace mortise::remote {
namespace {

// Of the time that close() may take.
constexpr std::chrono::milliseconds patience{750};
// A server next door answers within a part of this. A call that a server refuses when close()
// begins to wait is sent again half a second later, so it gets an answer.
constexpr std::chrono::milliseconds time_for_an_answer{150};
constexpr std::chrono::milliseconds a_look{5};

}  // namespace

bool Polling::begin() {
  if (has_begun_.load()) return !is_closed_.load();
  unless_closed([this] {
    if (has_begun_.load()) return;
    attach_all();
    host_.attach(*this);
    has_begun_.store(true);
  });
  return !is_closed_.load();
}

void Polling::give_back_the_rest() {
  if (!has_begun_.load()) return;
  hurry();
  const Clock& clock = *host_.clock();
  const Instant until = BootClock::now() + patience;
  const auto left = [until] { return until - BootClock::now(); };
  while (left().count() > 0 && is_any_pending(clock.now() + left() - time_for_an_answer)) {
    std::vector<Source*> sources{this};
    add_sources(sources);
    base::poll_sources(sources, clock, clock.now() + a_look);
  }
}

bool Polling::close() noexcept {
  if (is_closed_.exchange(true)) return false;
  {
    const std::lock_guard lock(mutex_);  // a thread that attaches a source has done so, or will not
  }
  host_.detach(*this);
  detach_all();  // even if attaching has failed halfway
  return true;
}

}  // namespace mortise::remote
