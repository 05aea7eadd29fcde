// SPDX-License-Identifier: MIT
// Reads each slot under its mutex. The permits of a semaphore have a slot for each owner, which
// become one entry here.
#include "runtime/hold/snapshot.hpp"

#include "core/sharers.hpp"
#include "runtime/call/acquire_call.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/hold/slot.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

namespace mortise::runtime {
namespace {

/// What one slot has.
class SlotReader {
 public:
  SlotReader(Slot& slot, Snapshot::Name& into) noexcept : slot_(slot), into_(into) {}

  void read() {
    const Slot::Lock lock(slot_.mutex);
    now_ = slot_.client().now();
    if (const core::Hold* const live = slot_.state.live()) {
      add_locked(*live, Mode::exclusive, never);
    }
    if (core::Sharers* const sharers = slot_.state.sharers()) {
      for (const core::Sharer* const sharer : sharers->all()) {
        add_locked(core::part_of(sharers->hold(), *sharer), Mode::shared, sharer->until);
      }
    }
    if (const AcquireCall* const requester = slot_.requester_locked()) {
      add_locked(*requester);
      const Attempt* const asks = requester->attempt_locked();
      if (asks != nullptr) into_.holder = asks->holder();
      // Times and counts of an earlier moment mislead.
      if (into_.holder) into_.holder->expires_in.reset();
      if (into_.holder) into_.holder->waiters.reset();
    }
    for (core::Waiter* const waiter : slot_.state.queue()) {
      add_locked(*Slot::call_of(waiter));
    }
  }

 private:
  /// @param until when it ends at the latest, whatever its lease
  void add_locked(const core::Hold& hold, Mode keeper, Instant until) {
    const RenewalTrouble* const trouble = slot_.keeper(keeper).trouble_locked();
    core::Nanos valid_for = hold.lease.valid_for(now_);
    if (until != never) valid_for = std::clamp(until - now_, core::Nanos(0), valid_for);
    into_.holds.push_back({.label = hold.terms->label,
                           .mode = slot_.mode_of(*hold.terms),
                           .token = hold.token(),
                           .age = now_ - hold.owned_since,
                           .valid_for = valid_for,
                           .renewal = trouble != nullptr ? trouble->why : Failure()});
  }
  void add_locked(const AcquireCall& call) {
    into_.waiters.push_back({.label = call.terms->label,
                             .mode = slot_.mode_of(*call.terms),
                             .age = now_ - call.began()});
  }

  Slot& slot_;
  Snapshot::Name& into_;
  Instant now_{};
};

void append(Snapshot::Name&& more, Snapshot::Name& to) {
  std::move(more.holds.begin(), more.holds.end(), std::back_inserter(to.holds));
  std::move(more.waiters.begin(), more.waiters.end(), std::back_inserter(to.waiters));
  if (!to.holder) to.holder = std::move(more.holder);
}

}  // namespace

Snapshot snapshot_of(Names& names) {
  Snapshot snapshot;
  std::unordered_map<std::string, std::size_t> semaphores;  // where in the snapshot each is
  for (const Mode space : {Mode::exclusive, Mode::once, Mode::permit}) {
    names.table(space).each([&](Slot& slot) {
      Snapshot::Name name{.name = slot.name(), .space = space};
      SlotReader(slot, name).read();
      if (name.holds.empty() && name.waiters.empty()) return;
      if (space == Mode::permit) {
        const auto [known, is_new] = semaphores.try_emplace(name.name, snapshot.names.size());
        if (!is_new) return append(std::move(name), snapshot.names[known->second]);
      }
      snapshot.names.push_back(std::move(name));
    });
  }
  return snapshot;
}

}  // namespace mortise::runtime
