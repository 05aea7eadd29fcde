// SPDX-License-Identifier: MIT
// When an attempt that waits has its next round: at a hint, when leases end, or after a while that
// nobody else has drawn. Parts of RedlockBackend.
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "redlock/redlock_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redlock {
namespace {

using std::chrono::milliseconds;

// Who was told by few servers gives the others so long to tell as well.
constexpr milliseconds soonest_hint{1};
constexpr milliseconds latest_hint{4};
// A word that is hardly worth a round has one begin no sooner than so long after the last one.
constexpr milliseconds idle_word{200};
// How often a waiter looks by itself as long as no hint can come.
constexpr milliseconds soonest_look{20};
constexpr milliseconds latest_look{60};
// After a round that nobody won; grows.
constexpr milliseconds shortest_split{1};
constexpr milliseconds longest_split{250};
// The servers' clocks are read a little late, and the leases of all do not end at once.
constexpr milliseconds after_the_end{2};

}  // namespace

std::chrono::nanoseconds RedlockBackend::random(std::chrono::nanoseconds from,
                                                std::chrono::nanoseconds to) {
  const std::lock_guard lock(mutex_);
  return from + std::chrono::nanoseconds(static_cast<std::int64_t>(
                    random_.unit() * static_cast<double>((to - from).count())));
}

// A server whose inbox has come up since it was asked does not know that it is to tell.
bool RedlockBackend::hints_come(const QuorumAttempt& attempt) const noexcept {
  const NodeSet asked =
      base::mutant("redlock.listening_is_being_told") ? quorum_.all() : attempt.hears;
  const auto telling = static_cast<std::size_t>(std::count_if(
      nodes_.begin(), nodes_.end(),
      [asked](const auto& node) { return (asked & only(node->index())) != 0 && node->listens(); }));
  return telling >= quorum_.blocking();  // one of them is asked whenever a majority is
}

// Under the quorum attempt's mutex.
Instant RedlockBackend::next_try(const QuorumAttempt& attempt, Instant now) {
  // A hint that came in between may be of a release that this round was too early for, and a server
  // that came up in between has not voted.
  const bool hinted = (attempt.hinted & attempt.round.worth_hearing()) != 0;
  if (hinted || attempt.late != 0) return now + random(soonest_hint, latest_hint);
  if (attempt.splits > 0) {
    // Those who collided draw from a window that is wide enough for one of them to be alone in it.
    const core::Nanos took = std::max<core::Nanos>(shortest_split, 2 * (now - attempt.asked));
    const core::Nanos window =
        std::min<core::Nanos>(longest_split, took * (1 << std::min(attempt.splits, 8)));
    return now + random(core::Nanos(0), window);
  }
  Instant next = attempt.hinted == 0 ? never : attempt.asked + idle_word;  // see hinted()
  if (!hints_come(attempt)) next = std::min(next, now + random(soonest_look, latest_look));
  const std::optional<std::chrono::microseconds> left = attempt.round.free_in();
  if (left && *left < core::fallback_period) {
    next = std::min(next, attempt.asked + *left + random(after_the_end, 2 * after_the_end));
  }
  return next;  // and the library asks each fallback period
}

void RedlockBackend::wake(const std::shared_ptr<QuorumAttempt>& attempt, Lock lock, Instant when) {
  if (attempt->phase != QuorumAttempt::Phase::waiting || attempt->next <= when) return;
  attempt->next = when;
  lock.unlock();
  alarm_.set(attempt, when);
}

void RedlockBackend::listens(Node& node) {
  // Who waits already is not on that server's list yet, or is not any more: a server forgets whom
  // it could not tell, and what it told in between nobody has heard.
  const Instant soon = clock_->now() + soonest_hint;
  for (const auto& attempt : attempts()) {
    Lock lock(attempt->mutex);
    const bool believed = base::mutant("redlock.told_across_a_break");
    if (!believed) attempt->hears &= ~only(node.index());
    // A round that is under way asked the server before it could tell: another one follows.
    if (!believed && !base::mutant("redlock.listening_is_being_told")) {
      attempt->hinted |= only(node.index());
    }
    wake(attempt, std::move(lock), soon);
  }
}

void RedlockBackend::hinted(Node& node, const AttemptId& id) {
  std::shared_ptr<QuorumAttempt> attempt;
  {
    const std::lock_guard lock(mutex_);
    const auto found = attempts_.find(id);
    if (found == attempts_.end()) return;
    attempt = found->second;
  }
  const Instant soon = clock_->now() + random(soonest_hint, latest_hint);
  Lock lock(attempt->mutex);
  attempt->hinted |= only(node.index());
  if (attempt->phase != QuorumAttempt::Phase::waiting) return;
  if ((attempt->hinted & attempt->round.worth_hearing()) == 0) {
    // Who named the holder may have another one by now, and have told somebody else.
    const Instant later = attempt->asked + idle_word;
    if (base::mutant("redlock.hears_none_but_the_holders")) return;
    return wake(attempt, std::move(lock), std::max(soon, later));
  }
  if (count(attempt->hinted) < quorum_.majority()) return wake(attempt, std::move(lock), soon);
  lock.unlock();
  ask(attempt);
}

void RedlockBackend::Alarm::set(const std::shared_ptr<QuorumAttempt>& attempt, Instant when) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = attempts_.is_next(attempts_.add(when, attempt));
  }
  if (first) backend_.host_->changed(*this);
}

void RedlockBackend::Alarm::set_outbox_due(Instant when) {
  if (outbox_due_.bring_forward(when)) backend_.host_->changed(*this);
}

void RedlockBackend::Alarm::ready(short /*events*/, Instant now) {
  std::vector<std::weak_ptr<QuorumAttempt>> due;
  {
    const std::lock_guard lock(mutex_);
    due = attempts_.take(now);
  }
  for (const auto& each : due) {
    const std::shared_ptr<QuorumAttempt> attempt = each.lock();
    if (!attempt) continue;
    {
      const Lock lock(attempt->mutex);
      if (attempt->phase != QuorumAttempt::Phase::waiting || attempt->next > now) continue;
    }
    backend_.ask(attempt);
  }
  // Last, since it stays due where there was no memory for what comes before; they do not.
  if (outbox_due_.take(now)) backend_.send_outbox_later();
}

}  // namespace mortise::redlock
