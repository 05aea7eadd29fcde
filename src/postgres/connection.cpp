// SPDX-License-Identifier: MIT
// The life of a connection. Its statements are in connection_traffic.cpp, its ends in
// connection_end.cpp.
#include "postgres/connection.hpp"

#include "base/mutant.hpp"

#include <poll.h>

#include <iterator>
#include <utility>

namespace mortise::postgres {
namespace {

/// A pooler's connection that does not answer: nobody can be asked whether there is a process of
/// the server's behind it.
constexpr std::chrono::minutes longest_silence{1};

/// @return a number for the clock of a server. A standby that was promoted is another machine. If a
/// server does not tell which one it is, each connection counts as one to another server.
std::uint64_t clock_of(const Whereabouts& server) {
  if (server.cluster == 0) return base::random_bits();
  return static_cast<std::uint64_t>(server.cluster) * 31 +
         static_cast<std::uint64_t>(server.timeline);
}

}  // namespace

Connection::Connection(Host& host, const Settings& settings, const Statements& statements,
                       Lineage& lineage, std::string listen, User& user)
    : host_(host),
      settings_(settings),
      statements_(statements),
      lineage_(lineage),
      listen_(std::move(listen)),
      where_("postgresql " + settings.where()),
      user_(user),
      clock_(host.clock()),
      route_(settings),
      link_(base::random_bits()) {}

Connection::~Connection() = default;

void Connection::want(bool now) {
  if (link_.want(now)) host_.changed(*this);
}

Instant Connection::due() const noexcept {
  return link_.due([this] {
    if (retired_.load() || forsaken_.load()) return Instant{};
    const std::lock_guard lock(mutex_);
    return stuck_.load() ? stuck_until_ : wave_due_locked();
  });
}

bool Connection::outstanding() const noexcept {
  return link_.is_outstanding(load_.load() > 0 || retired_.load() || forsaken_.load());
}

void Connection::ready(short /*events*/, Instant now) {
  const std::unique_lock role(reading_, std::try_to_lock);
  if (!role) return;
  switch (link_.state()) {
    case State::idle:
      if (link_.is_to_begin(now)) begin(now);
      return;
    case State::resolving: next_server(now); break;
    case State::connecting: advance(now); break;
    case State::greeting: greeted(now); break;
    case State::up:
      receive();
      if (retired_.exchange(false)) leave();
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
      return fail_over(lost(route_.late_words(remote::Link::words(end))), now);
    case End::connection_is_late: return fail_over(lost(remote::Link::words(end)), now);
    case End::broken: return drop(broken());
  }
  if (link_.state() != State::up) return;
  if (forsaken_.load()) {
    return drop(turned_away_ ? *std::exchange(turned_away_, {})
                             : lost("another server has replaced this one"));
  }
  bool late = false;
  bool arrived = false;
  {
    const std::lock_guard lock(mutex_);
    late = stuck_.load() ? stuck_until_ <= now : deadline_locked() <= now;
    arrived = late && pq_->arrived();
  }
  if (!late) return;
  // One that listens never waits for a commit.
  if (stuck_.load() || !arrived || !listen_.empty() ||
      base::mutant("postgres.drop_stuck_connection")) {
    return drop(lost("no answer in time"));
  }
  get_stuck(now);
}

void Connection::get_stuck(Instant now) {
  const ServerError why = lost("no answer in time");
  Flights unanswered;
  Flights unsent;
  {
    const std::lock_guard lock(mutex_);
    // First: all of it, or nothing where there is no memory.
    for (const Flight& flight : flights_) {
      if (!flight.prepares) unanswered.emplace_back(flight.call());
    }
    while (!queued_.empty()) {
      Flights& to = queued_.front().kind == Call::Kind::wake ? unsent : unanswered;
      to.splice(to.end(), queued_, queued_.begin());
    }
    load_.store(flights_.size());
    stuck_until_ = pooled_.load() ? now + longest_silence : never;
    stuck_.store(true);
  }
  user_.stuck(*this, why, std::move(unanswered), std::move(unsent));
}

void Connection::forsake_outdated() {
  Whereabouts mine;
  {
    const std::lock_guard lock(mutex_);
    mine = peer_.place;
  }
  if (link_.state() == State::up && lineage_.outdated(mine)) forsake();
}

void Connection::forsake() {
  forsaken_.store(true);
  host_.changed(*this);
}

ServerError Connection::lost(const char* words, Errc code) const {
  const std::string& where = route_.where().empty() ? where_ : route_.where();
  return {.kind = ServerError::Kind::elsewhere, .failure = {code, where + ": " + words}};
}

ServerError Connection::broken() {
  const std::lock_guard lock(mutex_);
  // The server's last words say more than the end of the connection.
  for (const Flight& flight : flights_) {
    if (!flight.result || flight.result->kind() != Result::Kind::error) continue;
    ServerError error = server_error(route_.where(), flight.result->error());
    if (error.kind == ServerError::Kind::elsewhere) return error;
  }
  PqError error = pq_ ? pq_->error() : PqError{};
  if (error.words.empty()) error.words = remote::Link::words(remote::Link::End::broken);
  error.state.clear();
  return server_error(route_.where(), error);
}

void Connection::begin(Instant now) {
  route_.restart();
  last_ = lost("no server was tried yet");
  link_.enter(State::resolving);
  link_.begin(now);
  next_server(now);
}

void Connection::next_server(Instant now) {
  for (;;) {
    switch (route_.next()) {
      case Route::Step::resolving:
        descriptor_.store(route_.descriptor());
        interest_.store(POLLIN);
        return;
      case Route::Step::failed:
        last_ = {.kind = ServerError::Kind::elsewhere, .failure = route_.failure()};
        continue;
      case Route::Step::end: return drop(last_);
      case Route::Step::server: break;
    }
    link_.next_server(now);
    auto pq = std::make_unique<Pq>(route_.keywords(), route_.take_socket());
    const bool begun = pq->descriptor() >= 0;
    if (!begun) last_ = server_error(route_.where(), pq->error());
    if (!begun) continue;
    descriptor_.store(pq->descriptor());
    interest_.store(POLLOUT);
    {
      const std::lock_guard lock(mutex_);
      pq_ = std::move(pq);
    }
    link_.enter(State::connecting);
    return;
  }
}

void Connection::fail_over(const ServerError& why, Instant now) {
  last_ = why;
  descriptor_.store(-1);
  greeting_.reset();
  settling_ = false;
  {
    const std::lock_guard lock(mutex_);
    pq_.reset();
  }
  // Of the next server nothing is known yet: where there is no memory for it, it is looked for
  // once more.
  link_.enter(State::resolving);
  link_.next_server(now);
  // The same password waits at the next server.
  if (why.kind == ServerError::Kind::final) return drop(why);
  next_server(now);
}

void Connection::advance(Instant now) {
  const Pq::Progress progress = pq_->advance();
  descriptor_.store(pq_->descriptor());
  switch (progress) {
    case Pq::Progress::reading: interest_.store(POLLIN); return;
    case Pq::Progress::writing: interest_.store(POLLOUT); return;
    case Pq::Progress::connected: break;
    case Pq::Progress::failed: return fail_over(server_error(route_.where(), pq_->error()), now);
  }
  link_.enter(State::greeting);
  settling_ = false;
  greeting_.reset();
  peer_.greeted = clock_->now();
  peer_.round_trips.begin(peer_.greeted);
  if (!pq_->run(statements_.greet()) || !pq_->sync()) return fail_over(broken(), now);
  interest_.store(static_cast<short>(POLLIN | (pq_->blocked() ? POLLOUT : 0)));
}

void Connection::greeted(Instant now) {
  if (!pq_->flush() || !pq_->receive()) return fail_over(broken(), now);
  interest_.store(static_cast<short>(POLLIN | (pq_->blocked() ? POLLOUT : 0)));
  while (std::optional<Result> result = pq_->next()) {
    if (result->kind() == Result::Kind::synced) return take_greeting(now);
    // Of several the first error counts, and of none the first rows.
    const bool error = result->kind() == Result::Kind::error;
    if (!greeting_ || (error && greeting_->kind() != Result::Kind::error)) {
      greeting_ = std::move(result);
    }
  }
}

void Connection::take_greeting(Instant now) {
  const std::string& where = route_.where();
  const std::optional<Result> result = std::exchange(greeting_, std::nullopt);
  if (!result || result->kind() != Result::Kind::rows) {
    return fail_over(result
                         ? server_error(where, result->error())
                         : lost("the reply is not from a PostgreSQL server; check host and port"),
                     now);
  }
  if (!settling_) {
    const std::optional<ServerFacts> facts = ServerFacts::read(*result);
    if (const std::optional<ServerError> bad = unfit(facts)) return fail_over(*bad, now);
    pooled_.store(settings_.pooled.value_or(facts->backend_pid != pq_->backend_pid()));
    server_process_.store(facts->backend_pid);
    {
      const std::lock_guard lock(mutex_);
      peer_.place = facts->whereabouts;
      peer_.clock = clock_of(facts->whereabouts);
      peer_.time.read(peer_.greeted, facts->time, now);
      peer_.round_trips.begun(now);
    }
    if (lineage_.follow(facts->whereabouts)) user_.replaced();
    if (!pooled_.load()) return settle_in(now);
    if (!facts->read_committed) {
      return fail_over({.kind = ServerError::Kind::final,
                        .failure = {Errc::misconfigured,
                                    where + ": a pooler is in between; set the role's "
                                            "default_transaction_isolation to 'read committed'"}},
                       now);
    }
  }
  settling_ = false;
  route_.remember();
  route_.end();
  route_.rest();
  interest_.store(POLLIN);
  link_.came_up(now);
  user_.connected(*this);
  link_.is_welcome();
}

std::optional<ServerError> Connection::unfit(const std::optional<ServerFacts>& facts) const {
  const std::string& where = route_.where();
  const auto never_mind = [&](const char* words) {
    return ServerError{.kind = ServerError::Kind::final,
                       .failure = {Errc::misconfigured, where + ": " + words}};
  };
  if (!facts) return never_mind("the schema does not report its version; run 'mortise migrate'");
  if (facts->version < schema_version) {
    return never_mind("the schema is older than this library; run 'mortise migrate'");
  }
  if (facts->version > schema_version) {
    return never_mind("the schema is newer than this library; use a newer library");
  }
  if (facts->standby) return lost("this server is a standby, which cannot grant locks");
  if (lineage_.outdated(facts->whereabouts)) {
    return lost("this server has an older timeline: another server was promoted");
  }
  if (facts->read_only) {
    return lost("this server is read-only: default_transaction_read_only is on");
  }
  if (!facts->logged) {
    return never_mind(
        "a table of locks or keys is unlogged, so a crash would empty it; set it LOGGED");
  }
  if (!facts->indexes) {
    return never_mind("the table of locks lacks its unique indexes; create them again");
  }
  return std::nullopt;
}

void Connection::settle_in(Instant now) {
  settling_ = true;
  bool good = pq_->run(statements_.session());
  if (!listen_.empty()) {
    good = good && pq_->run(listen_);
  } else {
    for (const Statement& statement : statements_.all()) {
      if (statement.name.empty() || statement.later) continue;
      good = good && pq_->prepare(statement.name.c_str(), statement.text, statement.like);
    }
  }
  if (!good || !pq_->sync()) return fail_over(broken(), now);
  interest_.store(static_cast<short>(POLLIN | (pq_->blocked() ? POLLOUT : 0)));
}

}  // namespace mortise::postgres
