// SPDX-License-Identifier: MIT
#include "zookeeper/connect_course.hpp"

#include "remote/backoff.hpp"

#include <algorithm>

namespace mortise::zookeeper {
namespace {

using std::chrono::milliseconds;

/// For one server: until it has accepted the session.
constexpr milliseconds longest_connect{2'000};
constexpr milliseconds lookup_time{2'000};

}  // namespace

Instant ConnectCourse::limit() const noexcept {
  return state_ == State::idle || state_ == State::up ? never : limit_;
}

void ConnectCourse::look_up(Instant now) noexcept {
  state_ = State::looking_up;
  limit_ = now + lookup_time;
}

void ConnectCourse::connect(Instant now) noexcept {
  state_ = State::connecting;
  limit_ = now + std::min(longest_connect, timeout_ / 3);
  asked_ = now;
  is_answered_ = false;
  hides_seen_ = is_turned_away_ && now - down_since_ >= timeout_;
}

void ConnectCourse::wait(Instant until) noexcept {
  state_ = State::waiting;
  limit_ = until;
}

void ConnectCourse::urge(Instant now) noexcept {
  if (state_ == State::waiting) limit_ = std::max(now, std::min(limit_, soonest_));
}

void ConnectCourse::failed(Instant now) noexcept {
  if (failing_.tries++ == 0) failing_.since = now;
}

void ConnectCourse::pause(Instant now) noexcept {
  soonest_ = now;
  if (failing_.tries > 0) {
    soonest_ += remote::pause_of_new_request(now - failing_.since, random_.unit());
  }
  wait(now + remote::backoff(failing_.tries, random_.unit(), servers_));
}

void ConnectCourse::came_up(milliseconds timeout) noexcept {
  state_ = State::up;
  timeout_ = timeout;
  is_turned_away_ = false;
  down_since_ = never;
}

void ConnectCourse::answered() noexcept {
  is_answered_ = true;
  failing_.tries = 0;
}

void ConnectCourse::turned_away(Instant now) noexcept {
  is_turned_away_ = true;
  down_since_ = std::min(down_since_, now);
}

void ConnectCourse::not_connected(Instant now) noexcept {
  failed(now);
  failing_.tries % servers_ == 0 ? pause(now) : wait(now);
}

void ConnectCourse::not_found(Instant now) noexcept {
  failed(now);
  pause(now);
}

void ConnectCourse::lost(Instant now) noexcept {
  // A server that greets, answers nothing and hangs up is not to be connected to without a pause.
  // (By TLS both may be read at once: the connection was never seen up then.)
  const bool was_good = is_answered_ || now - asked_ >= remote::longest_pause;
  if (was_good) failing_.tries = 0;
  if (!was_good) failed(now);
  down_since_ = now;
  pause(now);
}

void ConnectCourse::over(Instant now, bool is_expired) noexcept {
  // It was up at some time, or it is.
  const bool was_granted = down_since_ != never || state_ == State::up;
  down_since_ = never;
  is_turned_away_ = hides_seen_ = false;
  // The failures stay: a server that hangs up on each session and lets it expire is not connected
  // to without a pause.
  if (is_expired && was_granted) {
    soonest_ = now;
    return wait(now);
  }
  failed(now);
  pause(now);
}

}  // namespace mortise::zookeeper
