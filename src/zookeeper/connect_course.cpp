// SPDX-License-Identifier: MIT
#include "zookeeper/connect_course.hpp"

#include "remote/backoff.hpp"
#include "remote/connect_limit.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {
namespace {

using std::chrono::milliseconds;

}  // namespace

Instant ConnectCourse::limit() const noexcept {
  return state_ == State::idle || state_ == State::up ? never : limit_;
}

void ConnectCourse::look_up(Instant now) noexcept {
  state_ = State::looking_up;
  limit_ = now + remote::connect_time;
}

void ConnectCourse::connect(Instant now) noexcept {
  state_ = State::connecting;
  asked_ = now;
  came_closer(now);
  is_answered_ = false;
  hides_seen_ = session_.is_turned_away && now - session_.down_since >= timeout_;
}

// The C client gives a server up two thirds of the session after it began to connect.
void ConnectCourse::came_closer(Instant now) noexcept {
  const Instant end = remote::connect_limit(
      asked_, now, std::min<std::chrono::nanoseconds>(remote::connect_time, timeout_ / 3));
  limit_ = std::min(end, asked_ + timeout_ * 2 / 3);
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
  session_.is_turned_away = false;
  session_.down_since = never;
}

void ConnectCourse::answered() noexcept {
  is_answered_ = true;
  session_.was_of_use = true;
  failing_.tries = 0;
}

void ConnectCourse::turned_away(Instant now) noexcept {
  session_.is_turned_away = true;
  session_.down_since = std::min(session_.down_since, now);
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
  if (was_good) {
    session_.was_of_use = true;
    failing_.tries = 0;
  } else {
    failed(now);
  }
  session_.down_since = now;
  pause(now);
}

void ConnectCourse::over(Instant now, bool is_expired) noexcept {
  const bool was_of_use = std::exchange(session_, {}).was_of_use;
  hides_seen_ = false;
  // A server that hangs up on each session and lets it expire is not connected to without a pause.
  if (is_expired && was_of_use) {
    soonest_ = now;
    return wait(now);
  }
  failed(now);
  pause(now);
}

}  // namespace mortise::zookeeper
