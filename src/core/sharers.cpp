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
  sharers_.push_back({.owner = hold_.owner, .since = hold_.owned_since, .terms = hold_.terms});
  newest_ = hold_.owner;
}

Sharer* Sharers::find(Owner owner) noexcept {
  // From the newest one, which is the one that is looked for most often.
  const auto found = std::find_if(sharers_.rbegin(), sharers_.rend(),
                                  [&](const Sharer& sharer) { return sharer.owner == owner; });
  return found == sharers_.rend() ? nullptr : &*found;
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
  sharers_.push_back({.owner = owner, .since = now, .terms = terms});
  newest_ = owner;
}

Hold part_of(const Hold& shared, const Sharer& sharer) {
  Hold part = shared;
  part.owner = sharer.owner;
  part.depth = sharer.depth;
  part.owned_since = sharer.since;
  part.terms = sharer.terms;
  part.lost = sharer.lost;
  part.guards = sharer.guards;
  return part;
}

Instant Sharers::next_end() const noexcept {
  Instant next = never;
  for (const Sharer& sharer : sharers_) next = std::min(next, sharer.until);
  return next;
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
