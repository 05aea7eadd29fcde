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

// A queue at the server decides whose turn it is, so a client need not give way. The server reports
// whether other clients wait. Whether this client gets notifications shows nothing about them.
bool Yields::is_contested(const HoldId& hold) const {
  if (!is_lock(hold.mode) || base::mutant("postgres.keeps_the_turn")) return false;
  const bool deaf = parts_.listener->hearing() == Listener::Hearing::pooled;
  if (deaf && base::mutant("postgres.keeps_the_turn_behind_a_pooler")) return false;
  return !parts_.settings.fair && contested_.has(hold.name);
}

// A transaction of its own, behind the release, notifies the other clients. If this client asked
// right behind the release, it would have the lock again by then. That would happen turn after
// turn, and the other clients would never get it. Nor may this client ask when it is notified of
// the release itself. A client a little nearer to the server than the others would win every time.
bool Yields::give_way(const Release& release) {
  const std::shared_ptr<Acquisition>& successor = release.successor();
  if (!successor || !is_contested(release.hold())) return false;
  // Before the release is sent, because the answer to the release sets the moment.
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
  if (!operation || !parts_.attempts.waiter(operation->request().attempt, &Waiter::gives_way))
    return;
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
  parts_.exchange->repeat_at(Flight::of(remote::Purpose::take, operation, parts_.now()), when);
}

}  // namespace mortise::postgres
