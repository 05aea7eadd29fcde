// SPDX-License-Identifier: MIT
// The arithmetic of one lease. All of it errs to one side: the client stops believing before the
// server stops counting.
#include "core/lease.hpp"

#include "base/mutant.hpp"

#include <algorithm>

namespace mortise::core {
namespace {

constexpr int early_parts = 30;  // of a lease: a tenth of the time between two renewals

Instant plus(Instant moment, Nanos span) noexcept {
  return span >= never - moment ? never : moment + span;
}

Nanos unusable(Nanos lease, SafetyMargin margin) noexcept {
  if (base::mutant("core.no_margin")) return Nanos(0);
  const Nanos drift = lease / 1000 * drift_permille;
  return drift + std::max<Nanos>(lease / 1000 * margin.permille, margin.least);
}

}  // namespace

// Where the backend fixes the lease no renewal brings more than was granted: wanting more would
// have the hold counted as not confirmed for ever.
Lease::Lease(const Terms& terms, const Grant& grant, SafetyMargin margin, Instant now,
             double spread)
    : wanted_(grant.fixed ? std::min(grant.lease, terms.lease) : terms.lease),
      margin_(margin),
      spreading_(spread),
      hold_end_(plus(now, terms.max_hold)),
      renews_(terms.renew) {
  count(grant.counted_from, grant.lease);
}

void Lease::count(Instant counted_from, Nanos lease) noexcept {
  lease_ = lease;
  if (unlimited()) {
    ask_at_ = ownerless_ ? never : plus(counted_from, pause_of_looks());
    return;
  }
  // A later answer never shortens what an earlier one gave: both hold at the server.
  const Instant end = counted_from + std::max(lease - unusable(lease, margin_), Nanos(0));
  lease_end_ = lease_end_ == never ? end : std::max(lease_end_, end);
  // A grant may come with a shorter provisional lease, which the first renewal raises even where no
  // further renewal is wanted.
  const bool provisional = lease < wanted_;
  if (ownerless_ || (!renews_ && !provisional)) {
    ask_at_ = never;
    return;
  }
  const Nanos third = lease / renewals_in_a_lease;
  ask_at_ = counted_from + third - (provisional ? Nanos(0) : spreading_.next(third));
}

Instant Lease::deadline() const noexcept { return std::min(lease_end_, hold_end_); }

Nanos Lease::valid_for(Instant now) const noexcept {
  if (state_ == State::lost) return Nanos(0);
  const Instant end = deadline();
  if (end == never) return Nanos::max();
  if (base::mutant("core.valid_until_told")) return std::max(end - now, Nanos(1));
  return std::max(end - now, Nanos(0));
}

Instant Lease::next() const noexcept {
  return state_ == State::lost ? never : std::min(ask_at_, deadline());
}

Nanos Lease::early() const noexcept {
  // Repeated ones come when they must, and the end comes when it comes.
  const bool plain = state_ == State::held && !asked_ && ask_at_ < deadline();
  return plain ? std::min(lease_, wanted_) / early_parts : Nanos(0);
}

Lease::Step Lease::tick(Instant now, Nanos sooner) noexcept {
  if (state_ == State::lost) return Step::none;
  if (now >= deadline()) {
    state_ = State::lost;
    return Step::lose;
  }
  if (now < ask_at_ - sooner) return Step::none;
  // There is nothing to renew, unless somebody wants to know what its answer tells beside.
  if (unlimited() && state_ == State::held && !asked_) {
    ask_at_ = plus(now, pause_of_looks());
    return Step::none;
  }
  // Until this renewal is answered the next look is a command time-out away.
  if (asked_) put_in_jeopardy();
  asked_ = true;
  ++unconfirmed_;
  ask_at_ = now + command_timeout(lease_);
  return Step::renew;
}

void Lease::asked_too(Instant now) noexcept {
  if (state_ == State::lost) return;
  ++unconfirmed_;
  // One that is due already, or under way, is missed as early as without this.
  if (!asked_) ask_at_ = std::min(ask_at_, now + command_timeout(lease_));
  asked_ = true;
}

// What nobody answers for a while is asked for by all holds at once afterwards.
void Lease::put_in_jeopardy() noexcept {
  state_ = State::jeopardy;
  spreading_.restart();
}

bool Lease::renewed(Instant counted_from, Nanos lease, Instant now) noexcept {
  if (state_ == State::lost) return false;
  if (now >= deadline() && !base::mutant("core.renewal_revives")) {
    // The holder may have looked at its clock and stopped: a lapsed hold stays lapsed.
    state_ = State::lost;
    return false;
  }
  state_ = State::held;
  asked_ = false;
  if (unconfirmed_ > 0) --unconfirmed_;
  count(counted_from, lease);
  return true;
}

void Lease::unanswered(Instant now) noexcept {
  if (state_ == State::lost) return;
  put_in_jeopardy();
  asked_ = false;
  // Soon, since the lease runs; but a server that fails at once must not be asked in a tight loop.
  const Nanos pause =
      std::clamp<Nanos>(lease_ / 30, std::chrono::milliseconds(5), std::chrono::milliseconds(500));
  ask_at_ = now + pause;
}

Instant Lease::end_unrenewed(Instant now) const noexcept {
  const bool looked_after = unlimited() && !ownerless_;
  return looked_after ? std::min(plus(now, wanted_ - pause_of_looks()), hold_end_) : deadline();
}

void Lease::disown(Instant now) noexcept {
  if (state_ == State::lost) return;
  if (unlimited()) lease_end_ = end_unrenewed(now);
  ask_at_ = never;
  ownerless_ = true;
}

bool Lease::fit_to_pass(Instant now) const noexcept {
  if (base::mutant("core.expired_hold_is_passed")) return true;
  if (ownerless_) return false;
  if (state_ != State::held || now >= deadline()) return false;
  return lease_ == no_lease || lease_end_ - now >= lease_ / 2;
}

void Lease::passed(Instant now, Nanos max_hold) noexcept { hold_end_ = plus(now, max_hold); }

}  // namespace mortise::core
