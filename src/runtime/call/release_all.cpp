// SPDX-License-Identifier: MIT
// All releases leave, then the answers are awaited.
#include "runtime/call/release_all.hpp"

#include "runtime/call/gathered.hpp"
#include "runtime/call/sleep_turns.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <vector>

namespace mortise::runtime {
namespace {

using Slots = std::span<const HeldSlot>;
using Calls = std::span<std::optional<ReleaseCall>>;

// So late at most a caller learns that it may not wait any longer.
constexpr std::chrono::milliseconds longest_slice{10};

Released worse(Released one, Released other) noexcept {
  if (one == Released::was_lost || other == Released::was_lost) return Released::was_lost;
  return one == Released::unknown ? one : other;
}

using Turns = SleepTurns<ReleaseCall>;

/// @return whether all are over
bool advance(Slots slots, Calls calls, Turns& turns) noexcept {
  turns.begin();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i]->advance()) turns.add(*calls[i], slots[i].slot->client());
  }
  return turns.empty();
}

/// Reports the end of a call whose holder may not know that the library unlocked for it.
Released end(ReleaseCall& call) noexcept {
  Failure misuse;
  try {
    return call.end(misuse);
  } catch (const std::exception&) {
    return Released::was_lost;  // out of memory for the words of a misuse
  }
}

Released in_one_flight(Slots slots, Calls calls, Unlock how,
                       const std::function<core::Nanos()>& may_wait) noexcept {
  Turns turns;
  bool all_over = false;
  {
    const Gathered together(slots, [](const HeldSlot& held) -> Slot& { return *held.slot; });
    for (std::size_t i = 0; i < slots.size(); ++i) {
      how.mode = slots[i].mode;
      calls[i].emplace(*slots[i].slot, how);
    }
    all_over = advance(slots, calls, turns);
  }
  for (; !all_over; all_over = advance(slots, calls, turns)) {
    const core::Nanos allowed = may_wait ? may_wait() : core::Nanos::max();
    if (allowed <= core::Nanos(0)) {
      for (std::optional<ReleaseCall>& call : calls) call->hurry();
      continue;
    }
    turns.sleep(may_wait ? std::min<core::Nanos>(allowed, longest_slice) : allowed);
  }
  Released outcome = Released::released;
  for (std::optional<ReleaseCall>& call : calls) outcome = worse(outcome, end(*call));
  return outcome;
}

}  // namespace

Released release_all(Slots slots, const Unlock& how,
                     const std::function<core::Nanos()>& may_wait) noexcept {
  try {
    std::vector<std::optional<ReleaseCall>> calls(slots.size());
    return in_one_flight(slots, calls, how, may_wait);
  } catch (const std::exception&) {
    // Out of memory: one after the other.
  }
  Released outcome = Released::released;
  for (const HeldSlot& held : slots) {
    std::optional<ReleaseCall> call;
    outcome = worse(outcome, in_one_flight({&held, 1}, {&call, 1}, how, may_wait));
  }
  return outcome;
}

}  // namespace mortise::runtime
