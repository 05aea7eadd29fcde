// SPDX-License-Identifier: MIT
// A list of unfinished business, asked for again once a fallback period.
#include "runtime/reaper.hpp"

#include <mortise/backend.hpp>

#include "core/figures.hpp"
#include "runtime/kept_hold.hpp"

#include <algorithm>

namespace mortise::runtime {
namespace {

// An attempt that is done is not over: what it was granted has yet to be given back.
bool over(const Attempt& attempt) noexcept { return attempt.settled(); }
bool over(const Release& release) noexcept { return release.done(); }
bool over(const KeptHold& kept) noexcept { return kept.settled(); }

/// Whether there is nothing more to ask for.
template <class Item>
bool gone(const Item& item) noexcept {
  return over(item);
}
bool gone(const KeptHold& kept) noexcept { return kept.gone(); }

/// @return when to ask for it again, which is done just now.
template <class Item>
Instant next_of(const Item& /*item*/, Instant now) noexcept {
  return now + core::fallback_period;
}
Instant next_of(const KeptHold& kept, Instant now) noexcept { return kept.next(now); }

/// Drops what is over, and collects what is to be asked now. @return when the next one is due.
template <class Cases, class Items>
Instant collect(Cases& cases, Items& due, Instant now) {
  std::erase_if(cases, [&](const auto& c) { return gone(*c.item) || now >= c.until; });
  Instant next = never;
  for (auto& c : cases) {
    if (now >= c.again) {
      due.push_back(c.item);
      c.again = next_of(*c.item, now);
    }
    next = std::min(next, c.again);
  }
  return next;
}

}  // namespace

Instant Reaper::adopt(std::shared_ptr<Attempt> attempt, Instant now) {
  // A grant that comes after this is a hold whose lease nobody renews: it ends by itself.
  const Instant until = now + core::fallback_period * core::fallback_periods_of_an_orphan +
                        std::min<core::Nanos>(attempt->request().lease, core::longest_lease);
  const Instant again = now + core::fallback_period;
  const std::lock_guard lock(mutex_);
  attempts_.push_back({std::move(attempt), again, until});
  return again;
}

Instant Reaper::adopt(std::shared_ptr<Release> release, Instant now, Instant until) {
  const Instant again = now + core::fallback_period;
  const std::lock_guard lock(mutex_);
  releases_.push_back({std::move(release), again, until});
  return again;
}

Instant Reaper::adopt(std::shared_ptr<KeptHold> kept, Instant now) {
  const Instant again = kept->next(now);
  const std::lock_guard lock(mutex_);
  const Instant until = kept->ends() + core::fallback_period;
  kept_.push_back({std::move(kept), again, until});
  return again;
}

Instant Reaper::run(Instant now) {
  std::vector<std::shared_ptr<Attempt>> attempts;
  std::vector<std::shared_ptr<Release>> releases;
  std::vector<std::shared_ptr<KeptHold>> kept;
  Instant next = never;
  {
    const std::lock_guard lock(mutex_);
    next = std::min({collect(attempts_, attempts, now), collect(releases_, releases, now),
                     collect(kept_, kept, now)});
  }
  for (const auto& attempt : attempts) {
    attempt->done() ? attempt->give_back_again() : backend_.cancel(attempt);
  }
  for (const auto& release : releases) backend_.release(release);
  for (const auto& hold : kept) hold->say(backend_, now);
  return next;
}

bool Reaper::idle() {
  const std::lock_guard lock(mutex_);
  const auto is_over = [](const auto& c) { return over(*c.item); };
  return std::all_of(attempts_.begin(), attempts_.end(), is_over) &&
         std::all_of(releases_.begin(), releases_.end(), is_over) &&
         std::all_of(kept_.begin(), kept_.end(), is_over);
}

}  // namespace mortise::runtime
