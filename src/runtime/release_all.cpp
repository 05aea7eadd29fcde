// SPDX-License-Identifier: MIT
// All releases leave, then the answers are awaited.
#include "runtime/release_all.hpp"

#include "runtime/gathered.hpp"

#include <exception>
#include <optional>
#include <vector>

namespace mortise::runtime {
namespace {

using Slots = std::span<const HeldSlot>;
using Calls = std::vector<std::optional<ReleaseCall>>;

Released worse(Released one, Released other) noexcept {
  if (one == Released::was_lost || other == Released::was_lost) return Released::was_lost;
  return one == Released::unknown ? one : other;
}

/// Begins a call of which the holder may not know that somebody unlocked for it.
void begin(ReleaseCall& call, Owner owner, Unlocking by) noexcept {
  try {
    Failure misuse;
    call.begin(owner, misuse, by);
  } catch (const std::exception&) {
    // Out of memory for the words of the misuse: nothing is left to free.
  }
}

Released in_one_flight(Slots slots, Calls& calls, Owner owner, Unlocking by) noexcept {
  {
    const Gathered together(slots, [](const HeldSlot& held) -> Slot& { return *held.slot; });
    for (std::size_t i = 0; i < slots.size(); ++i) {
      begin(calls[i].emplace(*slots[i].slot, slots[i].mode), owner, by);
    }
  }
  const Instant began = BootClock::now();
  // The last first: what is answered on the way to it need not be waited for.
  for (int half = 1; half <= 2; ++half) {
    for (std::size_t i = calls.size(); i-- > 0;) {
      const core::Nanos time = calls[i]->half_of_its_time() * half;
      calls[i]->wait(time - (BootClock::now() - began));
    }
    if (half == 1) {
      for (std::optional<ReleaseCall>& call : calls) call->repeat();
    }
  }
  Released outcome = Released::released;
  for (std::optional<ReleaseCall>& call : calls) outcome = worse(outcome, call->settle());
  for (std::optional<ReleaseCall>& call : calls) call->tell();
  return outcome;
}

}  // namespace

Released release_all(Slots slots, Owner owner, Unlocking by) noexcept {
  std::optional<Calls> calls;
  try {
    calls.emplace(slots.size());
  } catch (const std::exception&) {
    // Out of memory: one after the other.
  }
  if (calls) return in_one_flight(slots, *calls, owner, by);
  Released outcome = Released::released;
  for (const HeldSlot& held : slots) {
    ReleaseCall call(*held.slot, held.mode);
    begin(call, owner, by);
    if (!call.wait(call.half_of_its_time())) {
      call.repeat();
      call.wait(call.half_of_its_time());
    }
    outcome = worse(outcome, call.settle());
    call.tell();
  }
  return outcome;
}

}  // namespace mortise::runtime
