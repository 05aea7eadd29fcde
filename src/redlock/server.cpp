// SPDX-License-Identifier: MIT
#include "redlock/server.hpp"

#include "base/one_by_one.hpp"
#include "redlock/quorum_request.hpp"

#include <utility>

namespace mortise::redlock {
namespace {

using redis::Call;
using remote::AttemptCourse;

bool is_open(const AttemptCourse& course) noexcept {
  using enum AttemptCourse::State;
  return course.state() != wanted && course.state() != gone;
}

}  // namespace

Server::Server(const Line::Shared& shared, std::uint64_t id, Instant met)
    : clock_(shared.clock),
      id_(id),
      met_(met),
      line_(shared, *this, courses_, exchange_),
      exchange_(line_, courses_, shared.clock) {
  exchange_.waiting().add_line(line_);
}

bool Server::may_have(const AttemptId& ballot) const {
  return courses_.ask(
      ballot, [](const AttemptCourse& course) { return is_open(course) || course.lost().any(); });
}

bool Server::is_to_answer(const AttemptId& ballot) const { return courses_.ask(ballot, is_open); }

// An exchange looks at its waiting calls only when its line is up.
void Server::forget_what_is_over() {
  const Instant now = clock_->now();
  static_cast<void>(courses_.to_undo(now));
  for (Exchange::Calls calls = exchange_.waiting().take(line_); !calls.empty();) {
    Exchange::Calls one;
    one.splice(one.begin(), calls, calls.begin());
    const Call& call = one.front();
    const bool is_over = call.kind == Call::Kind::release ? ending_in(call).expire(now)
                                                          : remote::is_over(call, courses_, now);
    if (!is_over) exchange_.waiting().keep(line_, std::move(one));
  }
}

bool Server::is_owed(Instant until) {
  if (!is_reachable()) forget_what_is_over();
  return courses_.is_any_pending(clock_->now(), until) || exchange_.waiting().any(line_) ||
         exchange_.due() < until;
}

void Server::ask(const std::shared_ptr<Ballot>& ballot, const Node& node) {
  Call call = Call::of(remote::Purpose::take, ballot);
  call.route.node = node.index();
  is_reachable() ? exchange_.submit(std::move(call)) : line_.not_asked(call);
}

bool Server::admits(const std::shared_ptr<Ballot>& ballot) {
  if (!ballot->may_be_asked(*clock_)) return false;
  // It voted for the hold once, and a majority has renewed that.
  if (courses_.ask(ballot->id(), &AttemptCourse::number) != 0) return true;
  const std::lock_guard lock(mutex_);
  return courses_.asked(ballot, Line::any_connection);
}

void Server::refused(const Ballot& ballot) {
  courses_.on(ballot.id(), [](Courses::Entry& entry) {
    entry.course.refuse();
    if (entry.course.state() == AttemptCourse::State::wanted) entry.course.finish();
  });
}

void Server::hold(const AttemptId& ballot, std::uint64_t number, Instant until) {
  const Instant now = clock_->now();
  {
    const std::lock_guard lock(mutex_);
    courses_.held(ballot, number, now, until);
  }
  courses_.on(ballot, [&](Courses::Entry& entry) { entry.course.renew(number, until); });
}

void Server::take_back(const std::shared_ptr<Ballot>& ballot) noexcept {
  if (courses_.find(ballot->id())) exchange_.abandon(ballot);
}

// As if a request for the vote had been lost there.
void Server::take_back_unasked(const std::shared_ptr<Ballot>& ballot) {
  const Instant now = clock_->now();
  courses_.request_lost(ballot, {.clock = id_, .noted = now}, now);
  exchange_.look(ballot->id());
}

void Server::end(const std::shared_ptr<Ending>& ending, std::chrono::nanoseconds lease,
                 bool inherited) {
  const Instant now = clock_->now();
  const HoldId& ended = ending->hold();
  hold(ended.attempt, ended.number, now);
  Call call = Call::of(remote::Purpose::give_back, ending, now);
  call.lease = lease;
  call.copies = inherited;
  exchange_.submit(std::move(call));
}

void Server::executed(const AttemptId& ballot, remote::ServerTime at) {
  const Instant now = clock_->now();
  bool repeats = false;
  {
    const std::lock_guard lock(mutex_);
    repeats = courses_.executed(ballot, at, id_, now);
  }
  if (repeats) line_.sooner();
}

void Server::answered_undo(const Call& undo, remote::ServerTime at) {
  executed(undo.attempt(), at);
  if (undo.why == remote::Purpose::look) return;
  exchange_.over(undo.attempt());
}

bool Server::answered_ending(const Ending& ending, remote::ServerTime at) {
  const HoldId& ended = ending.hold();
  bool was_lost = false;
  {
    const std::lock_guard lock(mutex_);
    was_lost = courses_.released(ended.attempt, ended.number);
  }
  executed(ended.attempt, at);
  exchange_.look(ended.attempt);
  return was_lost;
}

// A ballot is not failed by one server: only its course there is in doubt.
void Server::misread(const Call& call, const Failure& why) {
  if (takes_back(call)) return exchange_.misread(line_, call, why);
  Call lost = call;
  line_.note_lost(line_, lost);
}

void Server::connected(const Node& node) {
  at_.store(&node);
  exchange_.connected(line_);
}

void Server::disconnected(Exchange::Calls unanswered) {
  exchange_.lost(line_, Failure{}, false, true, std::move(unanswered));
  line_.sooner();
}

void Server::inherit(Server& from) {
  from.forget_what_is_over();
  base::OneByOne each;
  const Instant now = clock_->now();
  from.courses_.hurry(now);
  const auto take = [&](const Courses::Operation& ballot) {
    each([&] { take_back_unasked(std::static_pointer_cast<Ballot>(ballot)); });
  };
  for (const auto& ballot : from.courses_.to_undo(now)) take(ballot);
  for (const auto& ballot : from.courses_.begin_looks(now, true)) {
    take(ballot);
    remote::fail_look(from.courses_, ballot->request().attempt);
  }
  for (Exchange::Calls calls = from.exchange_.waiting().take(from.line_); !calls.empty();) {
    Exchange::Calls one;
    one.splice(one.begin(), calls, calls.begin());
    if (one.front().kind == Call::Kind::release) {
      each([&] {
        end(std::static_pointer_cast<Ending>(one.front().operation), one.front().lease, true);
      });
    }
    from.exchange_.waiting().keep(from.line_, std::move(one));
  }
  each.finish();
}

}  // namespace mortise::redlock
