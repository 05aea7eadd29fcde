// SPDX-License-Identifier: MIT
// The state of a name, and the events that tests of all its parts need.
#pragma once

#include "core/name_state.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace mortise::core {

class NameStateFixture : public ::testing::Test {
 protected:
  Hold hold(const Waiter& requester, std::uint64_t number = 7) {
    Hold hold{.owner = requester.owner, .number = number, .generation = ++generation_};
    hold.granted_at = hold.owned_since = now_;
    hold.terms = requester.terms;
    const Grant grant{.number = number, .counted_from = now_, .lease = std::chrono::seconds(30)};
    hold.lease = Lease(*requester.terms, grant, {}, now_, 0);
    return hold;
  }
  /// @return the next waiter that can go on.
  Waiter* served() { return state_.serve(now_, turn_); }
  Waiter* served_after_leaving(Waiter& waiter) {
    state_.leave(waiter);
    return served();
  }
  Waiter* served_after_release() {
    state_.release_sent();
    return served();
  }

  Instant now_{std::chrono::hours(1)};
  TurnLimits turn_;
  std::uint64_t generation_ = 0;
  NameState state_;
};

}  // namespace mortise::core
