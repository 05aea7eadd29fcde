// SPDX-License-Identifier: MIT
// Replies and messages of one attempt come on two connections and are read by two threads, in any
// order. Each decision is made once, by the number of a grant.
#include "remote/attempt_course.hpp"

#include "remote/outbox.hpp"

#include <algorithm>
#include <utility>

namespace mortise::remote {

// Two threads may ask for one attempt, and one of them may be late. Behind the release of the
// other one's hold, or behind a cancel, its request would take a hold that no client knows of.
bool AttemptCourse::ask(std::uint64_t connection, bool once) noexcept {
  if (is_withdrawn() || (once && connection_ == connection)) return false;
  if (state_ == State::wanted) state_ = State::asked;
  connection_ = connection;
  if (requests_ != known_to_server) ++requests_;
  return true;
}

// A lost request for it is no reason to refuse the next one. That shows what the lost one took.
void AttemptCourse::reopen() noexcept {
  if (state_ != State::gone) return;
  const LostRequests lost = lost_;
  *this = {};
  lost_ = lost;
}

void AttemptCourse::refuse() noexcept {
  if (!is_undecided() || requests_ == known_to_server) return;
  if (requests_ > 0) --requests_;
  if (requests_ > 0 || lost_.any()) return;
  connection_ = 0;
  if (state_ == State::asked) state_ = State::wanted;
}

void AttemptCourse::wait() noexcept {
  if (!is_undecided()) return;
  requests_ = known_to_server;
  if (!is_withdrawn()) state_ = State::queued;
}

bool AttemptCourse::cancel() noexcept {
  if (is_undecided() && requests_ == 0 && !lost_.any()) {
    state_ = State::gone;
    return false;
  }
  if (!is_withdrawn()) state_ = State::cancelled;
  return state_ != State::gone;
}

bool AttemptCourse::abandon(Instant now) noexcept {
  if (!cancel()) return false;
  if (!is_undecided()) return true;
  state_ = State::abandoned;
  abandoned_at_ = now;
  return true;
}

void AttemptCourse::finish() noexcept {
  if (is_undecided()) state_ = State::gone;
}

void AttemptCourse::settle() noexcept {
  // While it is undecided, its own next request would show what a lost one took. None comes.
  if (state_ == State::abandoned) state_ = lost_.any() ? State::gone : State::cancelled;
  if (state_ == State::orphaned) state_ = State::held;
}

bool AttemptCourse::was_tried_enough(std::chrono::nanoseconds lease, Instant now) const noexcept {
  return remote::was_tried_enough(abandoned_at_, lease, now);
}

AttemptCourse::Meaning AttemptCourse::grant(std::uint64_t number, Instant until) noexcept {
  if (number_ != 0) return number <= number_ ? Meaning::known : Meaning::unwanted;
  state_ = state_ == State::abandoned ? State::orphaned : State::held;
  number_ = number;
  until_ = until;
  return Meaning::decides;
}

// A thread stood still between a grant and its operation, and another thread completed that with a
// later grant. By the number of the first grant, the message of the hold that stands would be
// unwanted, and would end it (S1).
void AttemptCourse::take(std::uint64_t number, Instant until) noexcept {
  if (number_ == 0 || number == 0 || number == number_) return;
  number_ = number;
  until_ = until;
}

void AttemptCourse::renew(std::uint64_t number, Instant until) noexcept {
  if (is_hold(number)) until_ = std::max(until_, until);
}

// The number stays: a late message about that hold is not unwanted.
std::optional<std::uint64_t> AttemptCourse::end(std::uint64_t number, Instant now) noexcept {
  if (number_ == 0 || number < number_ || until_ <= now) return std::nullopt;
  until_ = now;
  return number_;
}

bool AttemptCourse::stands(std::uint64_t number, Instant now) const noexcept {
  const bool leaves = state_ == State::leaving || state_ == State::in_doubt;
  return is_hold(number) && !leaves && now < until_;
}

// Several replies may be about one grant. By one of them the hold was on its way back, and by the
// next one its caller got it: it believed in a hold whose release was under way (S1).
bool AttemptCourse::confirm(std::uint64_t number, Instant now) noexcept {
  if (!stands(number, now)) return false;
  if (state_ == State::held) state_ = State::confirmed;
  return true;
}

bool AttemptCourse::reject(std::uint64_t number) noexcept {
  if (!is_hold(number) || state_ == State::orphaned) return true;
  if (state_ != State::held) return false;
  state_ = State::leaving;
  return true;
}

void AttemptCourse::leave(std::uint64_t number) noexcept {
  const bool begins = state_ == State::held || state_ == State::confirmed;
  if (is_hold(number) && begins) state_ = State::leaving;
}

void AttemptCourse::lose_release(std::uint64_t number) noexcept {
  if (is_hold(number) && state_ != State::orphaned) state_ = State::in_doubt;
}

bool AttemptCourse::release(std::uint64_t number) noexcept {
  if (!is_hold(number)) return false;
  number_ = 0;
  return std::exchange(state_, State::gone) == State::in_doubt;
}

bool AttemptCourse::may_be_forgotten(Instant now) const noexcept {
  if (!lost_.is_forgotten(now) || is_to_be_undone()) return false;
  return state_ == State::gone || (number_ != 0 && now - until_ > VoidMoment::life);
}

}  // namespace mortise::remote
