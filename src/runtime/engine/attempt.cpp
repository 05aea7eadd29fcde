// SPDX-License-Identifier: MIT
// What becomes of a grant that nobody waits for any more.
#include "runtime/engine/attempt.hpp"

#include <mortise/backend.hpp>

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "runtime/engine/store_access.hpp"

#include <exception>

namespace mortise::runtime {

core::Duty Attempt::undergo(core::Fate fate) noexcept {
  core::Custody now = custody_.load();
  for (;;) {
    const core::CustodyStep step = core::after(now, fate);
    if (custody_.compare_exchange_weak(now, step.next)) return step.duty;
  }
}

// Nobody waits: a grant that comes now would be an orphaned grant.
void Attempt::finished() noexcept {
  if (undergo(core::Fate::completed) == core::Duty::give_back) give_back();
}

void Attempt::send(const std::shared_ptr<Errand>& self, Backend& backend, Instant /*now*/) {
  if (!done()) return backend.cancel(std::static_pointer_cast<Attempt>(self));
  if (undergo(core::Fate::tried_again) == core::Duty::give_back) give_back();
}

Instant Attempt::gone_at(Instant now) const noexcept {
  // A grant that comes after this is a hold whose lease nobody renews: it ends by itself.
  return now + core::fallback_period * core::fallback_periods_of_an_orphan +
         std::min<core::Nanos>(request().lease, core::longest_lease);
}

void Attempt::give_back() noexcept {
  const std::shared_ptr<StoreAccess> store = store_.lock();
  try {
    const bool keeps = base::mutant("core.abandoned_grant_is_kept");
    if (store && grant().number != 0 && !keeps) store->undo(*this);
  } catch (const std::exception&) {
    // Out of memory for the request, or for its repetition: as if nothing had been sent.
    undergo(core::Fate::not_given_back);
    return;
  }
  undergo(core::Fate::given_back);
}

}  // namespace mortise::runtime
