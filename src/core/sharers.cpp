// SPDX-License-Identifier: MIT
// Who may join, and for how long without a look at the server.
#include "core/sharers.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"

#include <algorithm>
#include <utility>

namespace mortise::core {

void Sharers::begin(Hold&& hold) noexcept {
  hold_ = std::move(hold);
  news_ = asked_ = hold_.granted_at;
  first_->owner = hold_.owner;
  first_->since = hold_.owned_since;
  first_->terms = hold_.terms;
  parts_.add(std::move(first_));
}

std::unique_ptr<Sharer> Sharers::leave(Sharer& part) noexcept {
  std::unique_ptr<Sharer> left = parts_.take(part);
  // Only a part whose thread has ended has an end.
  if (left->until != never && left->until == next_end_) {
    next_end_ = never;
    for (const Sharer* const each : parts_.list()) next_end_ = std::min(next_end_, each->until);
  }
  return left;
}

bool Sharers::open_to(const Terms& terms, Instant now, const TurnLimits& turn) const noexcept {
  if (wanted_ && !base::mutant("core.sharers_never_end")) return false;
  if (now < opens_) return false;
  // Lease and label are those of the first one, as with a re-entry. What would end the newcomer's
  // hold sooner than it asked for, or later, is not.
  if (terms.renew != hold_.terms->renew || terms.max_hold != hold_.terms->max_hold) return false;
  if (!terms.renew && terms.lease != hold_.terms->lease) return false;
  if (!hold_.lease.fit_to_pass(now)) return false;
  // No renewal is to keep such a hold alive, so none can bring news of it; and who came late would
  // have little of it.
  return !ends_by_itself() || now - hold_.granted_at < turn.time;
}

void Sharers::join(Owner owner, const std::shared_ptr<const Terms>& terms, Instant now) {
  auto part = std::make_unique<Sharer>();
  part->owner = owner;
  part->since = now;
  part->terms = terms;
  parts_.add(std::move(part));
}

Hold part_of(const Hold& shared, const Sharer& sharer) {
  Hold part = shared.handed_to(sharer.owner, sharer.terms, sharer.since);
  part.depth = sharer.depth;
  part.guards = sharer.guards;
  return part;
}

bool Sharers::wants_news(Instant now, const TurnLimits& turn) noexcept {
  if (ends_by_itself()) return false;
  ++joins_;
  const Nanos since = now - asked_;
  const Nanos patience = command_timeout(hold_.lease.wanted());
  if (since < (under_way_ ? patience : std::min(2 * took_, patience))) return false;
  if (since < turn.time && joins_ <= turn.passes) return false;
  asked_ = now;
  under_way_ = true;
  joins_ = 0;
  return true;
}

Instant Sharers::next_look(Instant now) const noexcept {
  if (now < opens_) return opens_;
  return wanted_ && !ends_by_itself() ? asked_ + fallback_period : never;
}

bool Sharers::wants_news_for_waiters(Instant now) noexcept {
  if (now < opens_ || now < next_look(now)) return false;
  asked_ = now;
  joins_ = 0;
  return true;
}

// Not by what it tells of: where a server proves leases by something else, as ZooKeeper does, that
// lies seconds before the question.
void Sharers::answered(Instant now) noexcept {
  if (!std::exchange(under_way_, false)) return;
  took_ = now - asked_;
}

void Sharers::told(bool wanted, Instant as_of) noexcept {
  // Answers may come in another order than they were asked for.
  if (as_of < news_) return;
  news_ = as_of;
  asked_ = std::max(asked_, as_of);
  wanted_ = wanted;
}

}  // namespace mortise::core
