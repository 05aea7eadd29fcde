// SPDX-License-Identifier: MIT
#include "postgres/yields.hpp"

#include "base/mutant.hpp"
#include "postgres/listener.hpp"

#include <chrono>

namespace mortise::postgres {
namespace {

// A client that is notified of a release asks within this time, and the way to the server and back;
// unless the notification waits for those of others.
constexpr std::chrono::milliseconds time_for_others{3};
// A release that was not answered for that long is in trouble, and no client is notified of it
// soon.
constexpr std::chrono::milliseconds longest_courtesy{250};

}  // namespace

// If a queue at the server says whose turn it is there is no need to. Whether this client hears of
// releases says nothing of the others: those of whom the server speaks do.
bool Yields::is_contested(const HoldId& hold) const {
  if (!is_lock(hold.mode) || base::mutant("postgres.keeps_the_turn")) return false;
  const bool deaf = parts_.listener->hearing() == Listener::Hearing::pooled;
  if (deaf && base::mutant("postgres.keeps_the_turn_behind_a_pooler")) return false;
  return !parts_.settings.fair && contested_.has(hold.name);
}

// Other clients are notified in a transaction of its own, behind the release. What this client asks
// for right behind that would have the lock again by then, turn after turn, and no client would be
// notified of anything. Nor may it ask when it hears of the release itself: a client that is a
// little nearer to the server than the others would win every time.
bool Yields::give_way(const Release& release) {
  const std::shared_ptr<Acquisition>& successor = release.successor();
  if (!successor || !is_contested(release.hold())) return false;
  // Before the release is sent, whose answer says when.
  if (parts_.attempts.give_way(successor)) ask_at(successor, parts_.now() + longest_courtesy);
  return true;
}

// The others are notified now. Their way may be longer than that of this client, which the release
// has measured.
void Yields::released(const Call& release, ReleaseOutcome outcome, bool others) {
  const HoldId& hold = release.releasing().hold();
  // A release that has freed nothing has not looked for waiters.
  const bool looked =
      others || outcome == ReleaseOutcome::freed || outcome == ReleaseOutcome::lapsed;
  if (looked && is_lock(hold.mode)) contested_.freed(hold.name, others);
  const std::shared_ptr<Acquisition>& operation = release.releasing().successor();
  if (!operation || !parts_.attempts.gives_way(operation->request().attempt)) return;
  const bool locked = outcome == ReleaseOutcome::locked;
  if (!others && !locked) return parts_.ask(operation);
  // The server has answered, and it is the turn of others. A caller whose time ends now has met
  // them, and not a server that does not answer.
  if (!base::mutant("postgres.rest_is_no_answer")) operation->queued(operation->holder());
  if (locked) return;
  const Instant now = parts_.now();
  ask_at(operation, now + time_for_others + (now - release.asked));
}

void Yields::ask_at(const std::shared_ptr<Acquisition>& operation, Instant when) {
  parts_.exchange->repeat_at(Flight::take(operation, parts_.now(), false), when);
}

}  // namespace mortise::postgres
