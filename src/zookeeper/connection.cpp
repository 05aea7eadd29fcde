// SPDX-License-Identifier: MIT
// A session outlives its connections, and a client its sessions.
#include "zookeeper/connection.hpp"

#include "base/error_words.hpp"
#include "base/random_id.hpp"
#include "base/system_error.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace mortise::zookeeper {
namespace {

using State = ConnectCourse::State;

/// For the server to read that a session has ended, before the connection is closed.
constexpr std::chrono::milliseconds leaving_time{300};

Failure failure_of(const Settings& settings, Errc code, const std::string& words) {
  return {code, "zookeeper " + settings.text() + ": " + words};
}

}  // namespace

void LeftSession::take(std::unique_ptr<Handle> handle) noexcept {
  handle_ = std::move(handle);
  handle_->end();
  until_ = never;
}

void LeftSession::send(Instant now) noexcept {
  if (!handle_ || until_ != never) return;
  handle_->flush();
  until_ = now + leaving_time;
}

void LeftSession::tick(Instant now) noexcept {
  if (until_ == never) return;
  handle_->flush();
  if (now < until_) return;
  handle_.reset();
  until_ = never;
}

void LeftSession::farewell(Instant until) noexcept {
  if (handle_) handle_->farewell(until);
  handle_.reset();
}

Connection::Connection(const Settings& settings, const remote::Tls* tls)
    : settings_(settings),
      tls_(tls),
      endpoints_(settings.servers),
      course_(settings.session, base::random_bits()) {}

void Connection::want(Instant now) {
  if (course_.state() == State::idle) begin(now);
}

void Connection::end() noexcept {
  if (handle_) handle_->end();
  course_.stop();
}

void Connection::farewell(Instant until) noexcept {
  if (handle_) handle_->farewell(until);
  handle_.reset();
  left_.farewell(until);
}

Connection::Polled Connection::polled() const noexcept {
  switch (course_.state()) {
    case State::looking_up: return {endpoints_.descriptor(), POLLIN};
    case State::connecting:
    case State::up: return {handle_->descriptor(), handle_->interest()};
    case State::idle:
    case State::waiting: break;
  }
  return {};
}

Instant Connection::next_step() const noexcept {
  if (!up()) return std::min(course_.limit(), left_.until());
  // A connection can end while requests leave. No poll reports that, if the socket is still good.
  const bool has_news = handle_->wire().readable() || !given_up_.empty();
  return has_news ? Instant{} : std::min(prepare_at_, left_.until());
}

void Connection::process(short events, Instant now) {
  const State state = course_.state();
  if (state == State::looking_up) return find(now);
  if (state != State::connecting && state != State::up) return;
  handle_->process(events);
  if (handle_->take_progress() && state == State::connecting) course_.came_closer(now);
  look(now);
}

void Connection::step(Instant now) {
  if (now >= course_.limit()) {
    if (course_.state() == State::looking_up) {
      find(now);
    } else if (course_.state() == State::connecting) {
      break_off(ETIMEDOUT);
      process(0, now);
    }
    // Perhaps it waits since just now, and not at all.
    if (course_.state() == State::waiting && now >= course_.limit()) {
      handle_ && !course_.looks_up_again() ? connect(now) : begin(now);
    }
  }
  if (up() && now >= prepare_at_) {
    prepare_at_ = handle_->prepare(now).again;
    look(now);
  } else if (course_.state() == State::connecting && handle_->prepare(now).failed) {
    not_connected(now);
  }
  left_.tick(now);
}

void Connection::break_off(int error) noexcept { handle_->mark_broken(error); }

void Connection::begin(Instant now) {
  endpoints_.look_up();
  course_.look_up(now);
  find(now);
}

void Connection::find(Instant now) {
  if (!endpoints_.take_answers(now >= course_.limit())) return;
  if (const Failure& why = endpoints_.failure()) {
    trouble_ = failure_of(settings_, Errc(why.code.value()), why.text);
    course_.not_found(now);
    return went_down();
  }
  course_.found(endpoints_.count());
  const std::string servers = endpoints_.list();
  if (handle_) {
    handle_->set_servers(servers, endpoints_.names());
    return connect(now);
  }
  try {
    handle_ = std::make_unique<Handle>(
        Handle::Options{.servers = servers,
                        .tls = tls_,
                        .hosts = endpoints_.names(),
                        .credentials = settings_.digest().value_or(std::string()),
                        .creator_only = settings_.creator_only,
                        .session = settings_.session},
        static_cast<Handle::User&>(*this));
  } catch (const Error& error) {
    return over(now, failure_of(settings_, error.errc(), base::words_of(error)), true);
  }
  connect(now);
}

void Connection::connect(Instant now) {
  course_.connect(now);
  handle_->hide_seen(course_.hides_seen());
  const Handle::Prepared prepared = handle_->prepare(now);
  if (prepared.failed) return not_connected(now);
  // It waits by itself after it has tried all servers.
  if (handle_->descriptor() < 0) course_.wait(prepared.again);
}

void Connection::look(Instant now) {
  switch (handle_->take_news()) {
    case Handle::News::none:
      if (course_.state() == State::connecting && !handle_->wire().is_open()) not_connected(now);
      if (up() && !given_up_.empty()) leave(now);
      return;
    case Handle::News::up: return greeted(now);
    case Handle::News::down:
      trouble_ = failure();
      course_.lost(now);
      return went_down();
    case Handle::News::expired:
      return over(now, failure_of(settings_, Errc::lost, "the session expired"), true);
    case Handle::News::refused:
      return over(
          now, failure_of(settings_, Errc::denied, "the server refused the user or the password"),
          false);
    case Handle::News::no_user:
      return over(now,
                  failure_of(settings_, Errc::denied,
                             settings_.credentials.user.empty()
                                 ? "the server requires authentication; add a user and "
                                   "a password to the URL"
                                 : "the server requires another kind of authentication "
                                   "than a user and a password"),
                  false);
  }
}

void Connection::not_connected(Instant now) {
  static_cast<void>(handle_->take_news());
  Failure why = failure();
  const bool has_session = id() != 0;
  if (has_session && handle_->wire().turned_away()) course_.turned_away(now);
  // A certificate that is refused, ours or theirs, at every server: asking again cannot help. Where
  // there is a session it may live on, and what it holds. The C client may try one server twice
  // before it has tried all of them.
  const bool is_denied = why.code == Errc::denied && endpoints_.deny(handle_->wire().endpoint());
  if (is_denied && !has_session) return over(now, why, true);
  course_.not_connected(now);
  trouble_ = std::move(why);
  went_down();
}

void Connection::greeted(Instant now) {
  course_.came_up(handle_->session_timeout());
  trouble_ = Failure{};
  prepare_at_ = now;
  // Its servers are there, and may show less than it has seen.
  if (course_.hides_seen()) {
    given_up_ = "no server was reachable for longer than the session timeout";
  }
  given_up_.empty() ? came_up() : leave(now);
}

void Connection::over(Instant now, const Failure& why, bool at_server) {
  trouble_ = {why.code == Errc::lost ? Errc::unavailable : Errc(why.code.value()), why.text};
  // First: nothing can be asked of it any more.
  course_.over(now, at_server && why.code == Errc::lost);
  handle_.reset();
  given_up_.clear();
  ended(why, at_server);
}

void Connection::leave(Instant now) {
  const Failure why = failure_of(settings_, Errc::lost, given_up_);
  course_.wait(now);  // as above
  left_.take(std::move(handle_));
  over(now, why, false);
}

Failure Connection::failure() const {
  const Wire& wire = handle_->wire();
  if (const Failure& why = wire.why())
    return failure_of(settings_, Errc(why.code.value()), why.text);
  const bool connects = course_.state() == State::connecting;
  switch (wire.error()) {
    case 0: return failure_of(settings_, Errc::unavailable, "no answer");
    case ETIMEDOUT:
      return failure_of(settings_, Errc::unavailable,
                        connects ? "no connection in time" : "no answer in time");
    case EPROTO:
      return failure_of(settings_, Errc::protocol,
                        "the server sent an invalid reply; check host and port");
    default: break;
  }
  return failure_of(settings_, base::errc_of(wire.error()),
                    std::generic_category().message(wire.error()));
}

}  // namespace mortise::zookeeper
