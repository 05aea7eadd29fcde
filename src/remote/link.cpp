// SPDX-License-Identifier: MIT
// What each thread may change of a connection's life, and in which order it is seen.
#include "remote/link.hpp"

#include "remote/backoff.hpp"

#include <algorithm>
#include <utility>

namespace mortise::remote {

bool Link::want(bool now) noexcept {
  // Not by the limit of this state, which may be that of a try under way: whoever comes meanwhile
  // would end it, and begin anew what was nearly done.
  Urgency none = Urgency::none;
  if (now) urgency_.compare_exchange_strong(none, Urgency::new_request);
  const bool news = !wanted_.exchange(true);
  return (news || now) && state() == State::idle;
}

void Link::begin(Instant now) noexcept {
  urgency_.store(Urgency::none);
  next_server(now);
}

void Link::came_up(Instant now) noexcept {
  proved_.of_use = false;
  since_ = now;
  state_.store(State::up);
}

Link::End Link::end(Instant now) const noexcept {
  const State state = this->state();
  if (state != State::idle && is_broken()) return End::broken;
  switch (state) {
    case State::idle:
    case State::up: return End::none;
    case State::resolving: return limit() <= now ? End::name_is_late : End::none;
    case State::connecting:
    case State::greeting: return limit() <= now ? End::connection_is_late : End::none;
  }
  return End::none;
}

const char* words_of(Link::End end) noexcept {
  switch (end) {
    case Link::End::none: return "";
    case Link::End::name_is_late: return "the host name was not resolved in time";
    case Link::End::connection_is_late: return "no connection in time";
    case Link::End::broken: return "the server closed the connection";
  }
  return "";
}

// The limit before the state, which says what it means. What wants it in between is not heard: its
// user, who is told of the drop after this, wants it again for all that it has by then.
void Link::drop(Instant now) noexcept {
  if (!std::exchange(proved_.welcome, false)) ++failing_.tries;
  if (state() == State::up) {
    // What has stood so long is no reason for a pause, whatever came of it: an inbox to which
    // nothing comes but a stranger's rubbish, now and then, is a good one.
    const bool good = proved_.of_use || now - since_ >= longest_pause;
    failing_.useless = good ? 0 : failing_.useless + 1;
  }
  if (urgency_.load() == Urgency::elsewhere) failing_ = {};
  const std::size_t failures = std::max(failing_.tries, failing_.useless);
  // The first failure of a row: the idle time before it does not count.
  if (failures <= 1) failing_.since = now;
  const Instant limit = now + backoff(failures, random_.unit());
  const Instant soonest =
      std::min(limit, now + pause_of_new_request(now - failing_.since, random_.unit()));
  soonest_.store(soonest.time_since_epoch().count());
  set_limit(limit);
  state_.store(State::idle);
  broken_.store(false);
  suspect_.store(false);
  wanted_.store(false);
}

void Link::leave() noexcept {
  proved_.welcome = false;
  soonest_.store(0);
  set_limit(Instant{});
  state_.store(State::idle);
  wanted_.store(false);
}

}  // namespace mortise::remote
