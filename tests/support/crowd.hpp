// SPDX-License-Identifier: MIT
// A name with many callers of one client: the decisions of `core/name_state`, without threads.
#pragma once

#include "core/name_state.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <stdexcept>

namespace mortise::test {

/// One caller holds the name, and the others wait for it; or all of them share the hold.
class Crowd {
 public:
  Crowd(std::size_t callers, Mode mode)
      : terms_(std::make_shared<core::Terms>(
            core::Terms{.lease = std::chrono::hours(1), .label = "crowd", .mode = mode})) {
    for (std::size_t i = 0; i < callers; ++i) {
      core::Waiter& caller =
          callers_.emplace_back(core::Waiter{.owner = Owner::unique(), .terms = terms_});
      if (enter(caller) == core::NameState::Entry::ask) grant(caller);
    }
  }

  /// One hand-over: the holder unlocks, the first waiter holds the name, and the former holder
  /// waits behind all others.
  void hand_over() {
    core::Waiter& holder = next_caller();
    const auto departure = state_.unlock(holder.owner, now_, turn_);
    if (departure.exit != core::NameState::Exit::passed) throw std::logic_error("not passed on");
    serve();
    enter(holder);
  }
  /// A waiter gives up, and comes again. Each call takes another waiter, in no order.
  void cancel() {
    core::Waiter& waiter = callers_[1 + (at_ += 7919) % (callers_.size() - 1)];
    state_.leave(waiter);
    serve();
    enter(waiter);
  }
  /// The reader that came first gives up its part, and joins again.
  void share() {
    core::Waiter& reader = next_caller();
    state_.unlock(reader.owner, now_, turn_, Mode::shared);
    enter(reader);
    serve();
  }

 private:
  void serve() {
    while (state_.serve(now_, turn_) != nullptr) {
    }
  }
  core::NameState::Entry enter(core::Waiter& caller) {
    caller.wakeup = core::Waiter::Wakeup::none;
    return state_.enter(caller, true, now_, turn_);
  }
  void grant(core::Waiter& caller) {
    core::Hold hold{.owner = caller.owner, .number = 1, .generation = 1};
    hold.granted_at = hold.owned_since = now_;
    hold.terms = terms_;
    hold.lease = core::Lease(*terms_, {.number = 1, .counted_from = now_, .lease = terms_->lease},
                             {}, now_, 0);
    auto room = state_.expect_grant(terms_->mode);
    state_.granted(caller, std::move(hold), std::move(room));
  }
  /// In order of arrival, again and again.
  core::Waiter& next_caller() { return callers_[at_++ % callers_.size()]; }

  const Instant now_ = Instant(std::chrono::hours(1));
  const core::TurnLimits turn_{.time = std::chrono::hours(1),
                               .passes = std::numeric_limits<std::uint32_t>::max()};
  std::shared_ptr<const core::Terms> terms_;
  std::deque<core::Waiter> callers_;
  core::NameState state_;
  std::size_t at_ = 0;
};

}  // namespace mortise::test
