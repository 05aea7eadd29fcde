// SPDX-License-Identifier: MIT
// What becomes of a grant that nobody waits for any more.
#include "runtime/attempt.hpp"

#include "base/mutant.hpp"
#include "runtime/client_state.hpp"

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

void Attempt::give_back_again() noexcept {
  if (undergo(core::Fate::tried_again) == core::Duty::give_back) give_back();
}

void Attempt::give_back() noexcept {
  const std::shared_ptr<ClientState> client = client_.lock();
  try {
    const bool keeps = base::mutant("core.abandoned_grant_is_kept");
    if (client && grant().number != 0 && !keeps) client->undo(*this);
  } catch (const std::exception&) {
    // Out of memory for the request, or for its repetition: as if nothing had been sent.
    undergo(core::Fate::not_given_back);
    return;
  }
  undergo(core::Fate::given_back);
}

}  // namespace mortise::runtime
