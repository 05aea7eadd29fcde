// SPDX-License-Identifier: MIT
// All releases leave, then the answers are awaited.
#include "runtime/release_all.hpp"

#include "runtime/gathered.hpp"

#include <algorithm>
#include <chrono>
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

// So late at most a caller notices that it may not wait any longer.
constexpr std::chrono::milliseconds longest_slice{10};

/// Waits for answers, as long as the caller may.
class Patience {
 public:
  explicit Patience(const std::function<core::Nanos()>& may_wait) noexcept : may_wait_(may_wait) {}
  void wait(ReleaseCall& call, core::Nanos at_most) {
    if (!may_wait_) return static_cast<void>(call.wait(at_most));
    const Instant until = BootClock::now() + at_most;
    for (bool answered = false; !answered && !is_over_;) {
      const core::Nanos allowed = may_wait_();
      const core::Nanos slice =
          std::min<core::Nanos>({until - BootClock::now(), allowed, longest_slice});
      answered = call.wait(std::max(slice, core::Nanos(0)));
      is_over_ = !answered && allowed <= core::Nanos(0);
      if (slice <= core::Nanos(0)) return;
    }
  }
  /// @return whether an answer was not waited for as long as it should have been.
  [[nodiscard]] bool is_over() const noexcept { return is_over_; }

 private:
  const std::function<core::Nanos()>& may_wait_;
  bool is_over_ = false;
};

Released in_one_flight(Slots slots, Calls& calls, Owner owner, Unlocking by, Patience& patience) {
  {
    const Gathered together(slots, [](const HeldSlot& held) -> Slot& { return *held.slot; });
    for (std::size_t i = 0; i < slots.size(); ++i) {
      begin(calls[i].emplace(*slots[i].slot, slots[i].mode), owner, by);
    }
  }
  const Instant began = BootClock::now();
  // The last first: what is answered on the way to it need not be waited for.
  for (int half = 1; half <= 2 && !patience.is_over(); ++half) {
    for (std::size_t i = calls.size(); i-- > 0;) {
      const core::Nanos time = calls[i]->half_of_its_time() * half;
      patience.wait(*calls[i], time - (BootClock::now() - began));
    }
    if (half == 2 || patience.is_over()) continue;
    for (std::optional<ReleaseCall>& call : calls) call->repeat();
  }
  Released outcome = Released::released;
  for (std::optional<ReleaseCall>& call : calls) {
    outcome = worse(outcome, call->settle(!patience.is_over()));
  }
  for (std::optional<ReleaseCall>& call : calls) call->tell();
  return outcome;
}

Released one_by_one(Slots slots, Owner owner, Unlocking by, Patience& patience) {
  Released outcome = Released::released;
  for (const HeldSlot& held : slots) {
    ReleaseCall call(*held.slot, held.mode);
    begin(call, owner, by);
    for (int half = 1; half <= 2 && !patience.is_over(); ++half) {
      if (half == 2) call.repeat();
      patience.wait(call, call.half_of_its_time());
    }
    outcome = worse(outcome, call.settle(!patience.is_over()));
    call.tell();
  }
  return outcome;
}

}  // namespace

Released release_all(Slots slots, Owner owner, Unlocking by,
                     const std::function<core::Nanos()>& may_wait) noexcept {
  Patience patience(may_wait);
  std::optional<Calls> calls;
  try {
    calls.emplace(slots.size());
  } catch (const std::exception&) {
    // Out of memory: one after the other.
  }
  return calls ? in_one_flight(slots, *calls, owner, by, patience)
               : one_by_one(slots, owner, by, patience);
}

}  // namespace mortise::runtime
