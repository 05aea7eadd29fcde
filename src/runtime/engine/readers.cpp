// SPDX-License-Identifier: MIT
// Whoever leaves a role calls the next: a follower, or the background thread.
#include "runtime/engine/readers.hpp"

#include "base/mutant.hpp"
#include "base/timer_source.hpp"
#include "runtime/engine/source_poll.hpp"

#include <algorithm>

namespace mortise::runtime {
namespace {

// How soon the background thread comes to pushes that a caller has left while no other awaits one.
// A thread that passes a lock to and fro with another process is back before; waking the background
// at each turn, and again to take the pushes from it, would cost two switches a turn.
constexpr std::chrono::milliseconds pushes_unattended{1};

bool has_moments_only(const Source* source) noexcept {
  return dynamic_cast<const base::TimerSource*>(source) != nullptr;
}

}  // namespace

Readers::Readers() : background_wake(make_eventfd()), unread_timer(make_timer()) {
  replies.wake = make_eventfd();
  pushes.wake = make_eventfd();
}

void Readers::nudge_all() const noexcept {
  signal(replies.wake.get());
  signal(pushes.wake.get());
  signal(background_wake.get());
}

bool Readers::add_locked(Source& source) {
  ReaderRole& role = source.pushes() ? pushes : replies;
  if (&role == &replies) close_shortcut_locked();
  const auto found = std::find(role.sources.begin(), role.sources.end(), &source);
  if (found != role.sources.end()) return false;
  auto* const tuned = dynamic_cast<base::TunedSource*>(&source);
  role.sources.reserve(role.sources.size() + 1);  // in both lists or in none
  if (tuned != nullptr) role.tuned.push_back(tuned);
  role.sources.push_back(&source);
  ++role.version;
  if (&role == &pushes && !has_moments_only(&source)) pushes_apart = true;
  return true;
}

void Readers::remove_locked(Source& source) noexcept {
  close_shortcut_locked();
  for (ReaderRole* const role : {&replies, &pushes}) {
    std::erase(role->tuned, &source);
    std::erase(role->sources, &source);
    ++role->version;
  }
  pushes_apart = !std::all_of(pushes.sources.begin(), pushes.sources.end(), has_moments_only);
}

ReaderRole& Readers::role_of(const Operation& operation) noexcept {
  // Where pushes come on the connection of the replies there is but one role.
  return operation.awaits_push() && pushes_apart ? pushes : replies;
}

bool Readers::outstanding_locked() const noexcept {
  return std::any_of(replies.sources.begin(), replies.sources.end(),
                     [](const Source* source) { return source->outstanding(); });
}

Instant Readers::due_locked() const noexcept {
  Instant due = never;
  for (const Source* const source : replies.sources) due = std::min(due, source->due());
  return due;
}

// Whoever awaits a push leaves to others even the replies that it has asked for on the way.
void Readers::have_replies_read_locked() noexcept {
  if (!outstanding_locked()) return;
  // Whoever is on it may have looked already whether it leaves a reply behind.
  close_shortcut_locked();
  if (replies.unattended() && !replies.background) signal(background_wake.get());
}

void Readers::close_shortcut_locked() noexcept {
  if (!shortcut.close()) return;
  replies.taken = true;
  by_shortcut = true;
}

void Readers::open_shortcut_locked() noexcept {
  const bool nobody = replies.unattended() && !replies.background && replies.followers.size() == 0;
  if (nobody && replies.short_way()) shortcut.open(replies.tuned);
}

Follower* Readers::successor_locked(ReaderRole& role) noexcept {
  // The caller that came last has the longest to wait, so it keeps the role longest.
  for (Follower* each = role.followers.last(); each != nullptr;) {
    Follower* const earlier = each->before;
    ReaderRole& fit = role_of(each->operation);
    if (!each->operation.done()) {
      if (&fit == &role) return each;
      // It was told since that it has to await a push.
      if (role.called != each) {
        if (&fit == &replies) close_shortcut_locked();
        role.followers.remove(*each);
        each->role = &fit;
        fit.followers.push_back(*each);
      }
    }
    each = earlier;
  }
  return nullptr;
}

void Readers::hand_on_locked(ReaderRole& role) noexcept {
  if (role.called != nullptr) return;  // it comes
  if (base::mutant("core.leave_without_a_call")) return;
  const std::size_t replies_before = replies.followers.size();
  Follower* const successor = role.crowded() ? nullptr : successor_locked(role);
  if (successor != nullptr) {
    role.called = successor;
    successor->operation.poke();
  } else if (&role == &pushes) {
    arm(unread_timer.get(), pushes_unattended);
  } else if (!role.background) {
    // What nobody awaits is read when it is due; who reads the pushes, asleep since before it was
    // sent, does not know of that moment.
    const Instant due = due_locked();
    if (outstanding_locked() || due < background_asleep_until.load()) signal(background_wake.get());
    if (due < pushes.asleep_until.load()) signal(pushes.wake.get());
  }
  // Who follows the replies and turned out to await a push is to read the pushes itself.
  if (&role == &replies && pushes.may_be_taken() && pushes.followers.size() > 0) {
    hand_on_locked(pushes);
  }
  // And who was asked for once more, as it waited for a push, has its reply to read.
  if (replies.followers.size() > replies_before && replies.unattended() && !replies.background) {
    hand_on_locked(replies);
  }
}

}  // namespace mortise::runtime
