// SPDX-License-Identifier: MIT
#include "postgres/connection.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::postgres {
namespace {

/// A pooler's connection that does not answer: no other one can be asked whether there is a process
/// of the server behind it.
constexpr std::chrono::minutes longest_silence{1};

/// @return a number for the clock of a server. A standby that was promoted is another machine. If a
/// server does not tell which one it is, each connection counts as one to another server.
std::uint64_t clock_of(const Whereabouts& server) {
  if (server.cluster == 0) return base::random_bits();
  return static_cast<std::uint64_t>(server.cluster) * 31 +
         static_cast<std::uint64_t>(server.timeline);
}

ServerError gone(const std::string& where, const char* words) {
  return {.kind = ServerError::Kind::elsewhere,
          .failure = {Errc::unavailable, where + ": " + words}};
}

short interest_of(const Pq& pq) noexcept {
  return static_cast<short>(POLLIN | (pq.blocked() ? POLLOUT : 0));
}

}  // namespace

Connection::Connection(Host& host, const Settings& settings, const Statements& statements,
                       Lineage& lineage, std::string listen, User& user)
    : host_(host),
      user_(user),
      clock_(host.clock()),
      route_(settings),
      greeting_(settings, statements, lineage, std::move(listen)),
      link_(base::random_bits()),
      waves_(statements) {}

Connection::~Connection() = default;

void Connection::want(bool now) {
  if (link_.want(now)) host_.changed(*this);
}

void Connection::request(Request request) {
  switch (request) {
    case Request::look: link_.suspect(); break;
    case Request::retire: shown_.is_retired.store(true); break;
    case Request::give_up: link_.mark_broken(); break;
    case Request::if_outdated: {
      const std::lock_guard lock(mutex_);
      if (link_.state() != State::up || !greeting_.is_outdated(waves_.peer().place)) return;
    }
      [[fallthrough]];
    case Request::forsake: shown_.is_forsaken.store(true); break;
  }
  host_.changed(*this);
}

Instant Connection::due() const noexcept {
  return link_.due([this] {
    if (shown_.is_retired.load() || shown_.is_forsaken.load()) return Instant{};
    const std::lock_guard lock(mutex_);
    return stuck() ? stuck_until_ : waves_.due();
  });
}

bool Connection::outstanding() const noexcept {
  return link_.is_outstanding(shown_.load.load() > 0 || shown_.is_retired.load() ||
                              shown_.is_forsaken.load());
}

void Connection::ready(short events, Instant now) {
  const std::unique_lock role(reading_, std::try_to_lock);
  if (!role) return;
  const State state = link_.state();
  // The server has accepted the connection, or has sent a part of what libpq waits for.
  const bool is_closer = state == State::connecting || state == State::greeting;
  if (is_closer && (events & (POLLIN | POLLOUT)) != 0) link_.came_closer(now);
  switch (state) {
    case State::idle:
      if (!link_.is_to_begin(now)) return;
      route_.restart();
      why_not_ = gone(route_.where(), "no server was tried yet");
      link_.enter(State::resolving);
      link_.begin(now);
      return next_server(now);
    case State::resolving: next_server(now); break;
    case State::connecting: advance(now); break;
    case State::greeting: greeted(now); break;
    case State::up:
      receive();
      if (shown_.is_retired.exchange(false)) {
        std::unique_ptr<Pq> pq;  // destroyed after the lock
        const std::lock_guard lock(mutex_);
        if (waves_.size() > 0 || link_.is_broken()) break;
        link_.leave();
        shown_.descriptor.store(-1);
        shown_.interest.store(0);
        static_cast<void>(waves_.end(false));
        pq.swap(waves_.pq());
      }
      break;
  }
  check_time(now);
}

void Connection::check_time(Instant now) {
  using End = remote::Link::End;
  switch (const End end = link_.end(now)) {
    case End::none: break;
    case End::name_is_late:
      route_.give_up_name();
      return fail_over(gone(route_.where(), route_.late_words(remote::words_of(end))), now);
    case End::connection_is_late:
      return fail_over(gone(route_.where(), remote::words_of(end)), now);
    case End::broken: return drop(broken());
  }
  if (link_.state() != State::up) return;
  if (shown_.is_forsaken.load()) {
    return drop(why_not_ ? *std::exchange(why_not_, {})
                         : gone(route_.where(), "another server has replaced this one"));
  }
  const ServerError why = gone(route_.where(), "no answer in time");
  const bool was_stuck = stuck();
  bool is_kept = false;
  Flights unanswered;
  Flights unsent;
  {
    const std::lock_guard lock(mutex_);
    if ((was_stuck ? stuck_until_ : waves_.deadline()) > now) return;
    // One that listens never waits for a commit.
    is_kept = !was_stuck && waves_.pq()->arrived() && !greeting_.listens() &&
              !base::mutant("postgres.drop_stuck_connection");
    if (is_kept) {
      waves_.get_stuck(unanswered, unsent);
      shown_.load.store(waves_.size());
      stuck_until_ = waves_.peer().is_pooled ? now + longest_silence : never;
      shown_.is_stuck.store(true);
    }
  }
  is_kept ? user_.stuck(why, std::move(unanswered), std::move(unsent)) : drop(why);
}

ServerError Connection::broken() {
  const std::lock_guard lock(mutex_);
  // The server's last words say more than the end of the connection.
  if (auto words = waves_.last_words(route_.where())) return *std::move(words);
  PqError error = waves_.pq() ? waves_.pq()->error() : PqError{};
  if (error.words.empty()) error.words = remote::words_of(remote::Link::End::broken);
  error.state.clear();
  return server_error(route_.where(), error);
}

void Connection::next_server(Instant now) {
  for (;;) {
    switch (route_.next()) {
      case Route::Step::resolving:
        shown_.descriptor.store(route_.descriptor());
        shown_.interest.store(POLLIN);
        return;
      case Route::Step::failed:
        why_not_ = {.kind = ServerError::Kind::elsewhere, .failure = route_.failure()};
        continue;
      case Route::Step::end: return drop(*std::exchange(why_not_, {}));
      case Route::Step::server: break;
    }
    link_.next_server(now);
    auto pq = std::make_unique<Pq>(route_.keywords(), route_.take_socket());
    const bool begun = pq->descriptor() >= 0;
    if (!begun) why_not_ = server_error(route_.where(), pq->error());
    if (!begun) continue;
    shown_.descriptor.store(pq->descriptor());
    shown_.interest.store(POLLOUT);
    {
      const std::lock_guard lock(mutex_);
      waves_.pq() = std::move(pq);
    }
    link_.enter(State::connecting);
    return;
  }
}

void Connection::fail_over(const ServerError& why, Instant now) {
  why_not_ = why;
  shown_.descriptor.store(-1);
  {
    const std::lock_guard lock(mutex_);
    waves_.pq().reset();
  }
  // Of the next server nothing is known yet. If there is no memory for it, it is looked for once
  // more.
  link_.enter(State::resolving);
  link_.next_server(now);
  // The same password waits at the next server.
  if (why.kind == ServerError::Kind::final) return drop(why);
  next_server(now);
}

void Connection::advance(Instant now) {
  Pq& pq = *waves_.pq();
  const Pq::Progress progress = pq.advance();
  shown_.descriptor.store(pq.descriptor());
  switch (progress) {
    case Pq::Progress::reading: shown_.interest.store(POLLIN); return;
    case Pq::Progress::writing: shown_.interest.store(POLLOUT); return;
    case Pq::Progress::connected: break;
    case Pq::Progress::failed: return fail_over(server_error(route_.where(), pq.error()), now);
  }
  link_.enter(State::greeting);
  if (!greeting_.begin(pq, clock_->now())) return fail_over(broken(), now);
  shown_.interest.store(interest_of(pq));
}

void Connection::greeted(Instant now) {
  Pq& pq = *waves_.pq();
  const Greeting::Step step = greeting_.receive(pq, route_.where());
  if (step == Greeting::Step::refused) {
    const std::optional<ServerError> why = greeting_.error();
    return fail_over(why ? *why : broken(), now);
  }
  if (step == Greeting::Step::met) {
    const ServerFacts& facts = greeting_.facts();
    shown_.is_pooled.store(greeting_.is_pooled());
    shown_.server_process.store(facts.backend_pid);
    {
      const std::lock_guard lock(mutex_);
      Peer& peer = waves_.peer();
      peer.place = facts.whereabouts;
      peer.clock = clock_of(facts.whereabouts);
      peer.is_pooled = greeting_.is_pooled();
      peer.time.read(greeting_.begun(), facts.time, now);
      peer.round_trips.begin(greeting_.begun());
      peer.round_trips.begun(now);
    }
    if (greeting_.replaces()) user_.replaced();
  }
  shown_.interest.store(interest_of(pq));
  if (!greeting_.is_over()) return;
  why_not_.reset();
  route_.remember();
  route_.end();
  route_.rest();
  link_.came_up(now);
  user_.connected(*this);
  link_.is_welcome();
}

Connection::Sent Connection::send(Flights& one, Arguments arguments) {
  const Instant now = one.front().asked;  // just now
  Flights dismissed;
  {
    const std::lock_guard lock(mutex_);
    if (!up() || !waves_.pq()) return Sent::refused;
    if (user_.withdrawn(one.front())) return Sent::withdrawn;
    shown_.was_used.store(true);
    if (!waves_.stands(now)) {
      // That is worth knowing.
      link_.mark_broken();
      host_.changed(*this);
      return Sent::refused;
    }
    one.front().arguments = std::move(arguments);
    const bool is_alone = waves_.add(one);
    go_on_locked(now, is_alone, dismissed);
    shown_.load.store(waves_.size());
  }
  for (Flight& each : dismissed) user_.dismissed(each);
  return Sent::sent;
}

/// Sends the next wave, if it may leave now.
/// @param is_alone its only call has not waited
void Connection::go_on_locked(Instant now, bool is_alone, Flights& dismissed) {
  if (waves_.may_send(now)) {
    // A waiting call may no longer be wanted. Then a release of its attempt is ahead of it.
    if (!is_alone) {
      dismissed = waves_.take_waiting([this](const Flight& each) { return user_.withdrawn(each); });
    }
    if (!waves_.send(now)) {
      link_.mark_broken();
      return host_.changed(*this);
    }
  }
  const short wanted = interest_of(*waves_.pq());
  if (shown_.interest.exchange(wanted) != wanted) host_.changed(*this);
}

bool Connection::linger() {
  constexpr int a_moment = 4;  // ms: nothing can call it back
  const auto awaits = [this] { return up() && shown_.load.load() > 0; };
  if (!awaits()) return false;
  const std::unique_lock role(reading_, std::try_to_lock);
  if (!role || !awaits()) return false;
  pollfd polled{descriptor(), interest(), 0};
  if (::poll(&polled, 1, a_moment) <= 0) return false;
  receive();
  return true;
}

bool Connection::delays_close() const {
  if (!up()) return false;
  const std::lock_guard lock(mutex_);
  return waves_.delays_close();
}

Flights Connection::take_waiting() noexcept {
  const std::lock_guard lock(mutex_);
  Flights waiting = waves_.take_waiting([](const Flight&) { return true; });
  shown_.load.store(waves_.size());
  return waiting;
}

void Connection::receive() {
  link_.looked();
  Flights done;
  Flights dismissed;
  std::vector<std::string> news;
  const bool is_late = stuck();  // changes in the reader's role only
  bool is_up_again = false;
  {
    const std::lock_guard lock(mutex_);
    if (!waves_.pq() || link_.is_broken()) return;
    const bool good = waves_.receive(is_late, done);
    // If there is no memory for one, its waiter looks by time.
    bool more = true;
    while (more) {
      base::without_memory([&] {
        std::optional<std::string> payload = waves_.pq()->notification();
        more = payload.has_value();
        if (more) news.push_back(std::move(*payload));
      });
    }
    is_up_again = good && is_late && waves_.is_idle();
    if (is_up_again) shown_.is_stuck.store(false);
    if (good) {
      const Instant now = clock_->now();
      waves_.heard(done, is_late, now);
      go_on_locked(now, false, dismissed);
    } else {
      link_.mark_broken();
    }
    shown_.load.store(waves_.size());
  }
  const bool is_of_use = std::any_of(done.begin(), done.end(), [](const Flight& flight) {
    return flight.result && flight.result->kind() == Result::Kind::rows;
  });
  if (is_of_use || !news.empty()) link_.made_sense();
  base::OneByOne each;
  each([&] { report(std::move(done), is_late); });
  for (Flight& flight : dismissed) each([&] { user_.dismissed(flight); });
  if (why_not_) request(Request::forsake);
  for (const std::string& payload : news) each([&] { user_.notified(payload); });
  if (is_up_again) each([&] { user_.connected(*this); });
  each.finish();
  // Only after the user has the answers: by now it may have sent the calls that had to follow them.
  if (shown_.load.load() < 2 || link_.is_broken()) return;
  {
    const std::lock_guard lock(mutex_);
    if (!waves_.waits_for_a_notification()) return;
  }
  user_.held_up();
}

// Each of them, whatever becomes of the one before: if there is no memory for what follows from an
// answer, the others still count. That one is unanswered again, and the connection breaks.
void Connection::report(Flights done, bool is_late) {
  base::OneByOne each;
  Flights left;
  while (!done.empty()) {
    Flight& flight = done.front();
    bool is_told = false;
    // A step of its own: if memory is short here, the answer still counts. A primary that no longer
    // takes writes answers as well. It was demoted by plan, or a pooler in front of it has met it
    // again as a standby. No other event ends this connection.
    each([&] {
      if (!flight.result || flight.result->kind() != Result::Kind::error) return;
      ServerError error = server_error(route_.where(), flight.result->error());
      if (error.kind == ServerError::Kind::elsewhere) why_not_ = std::move(error);
    });
    each([&] {
      const Result* const result = flight.result ? &*flight.result : nullptr;
      is_late ? user_.answered_late(flight, result) : user_.answered(flight, *result);
      is_told = true;
    });
    // A late call counts as unanswered already.
    is_told || is_late ? done.pop_front() : left.splice(left.end(), done, done.begin());
  }
  if (!left.empty()) {
    const std::lock_guard lock(mutex_);
    waves_.put_back(left);
    link_.mark_broken();
  }
  each.finish();
}

void Connection::drop(const ServerError& why) {
  const bool was_up = link_.state() == State::up;
  const Instant now = clock_->now();
  Flights unanswered;
  bool is_under_way = false;
  std::unique_ptr<Pq> pq;  // closed after the mutex was left
  {
    const std::lock_guard lock(mutex_);
    is_under_way = !waves_.is_idle();
    // A call that stayed here would take the answer of the next connection for its own.
    unanswered = waves_.end(shown_.is_stuck.exchange(false));
    link_.drop(now);
    shown_.load.store(0);
    shown_.descriptor.store(-1);
    shown_.interest.store(0);
    pq.swap(waves_.pq());
    shown_.is_retired.store(false);
    shown_.is_forsaken.store(false);
  }
  if (pq && is_under_way) pq->abandon();
  pq.reset();
  route_.rest();
  why_not_.reset();
  user_.dropped(*this, why, was_up, std::move(unanswered));
}

Flights Connection::close() noexcept {
  route_.end();
  std::unique_ptr<Pq> pq;
  const std::lock_guard lock(mutex_);
  link_.leave();
  shown_.descriptor.store(-1);
  pq.swap(waves_.pq());
  shown_.load.store(0);
  return waves_.end(shown_.is_stuck.exchange(false));
}

}  // namespace mortise::postgres
