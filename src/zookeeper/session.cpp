// SPDX-License-Identifier: MIT
// A session outlives its connections, and a client its sessions.
#include "zookeeper/session.hpp"

#include "base/error_words.hpp"
#include "base/system_error.hpp"
#include "remote/backoff.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace mortise::zookeeper {
namespace {

using std::chrono::milliseconds;

/// For one server: until it has accepted the session.
constexpr milliseconds longest_connect{2'000};
constexpr milliseconds resolve_time{2'000};
/// For the server to read that a session has ended, before the connection is closed.
constexpr milliseconds leaving_time{300};

}  // namespace

Session::Session(const Settings& settings, const remote::Tls* tls, std::shared_ptr<Clock> clock,
                 Owner& owner)
    : settings_(settings),
      tls_(tls),
      clock_(std::move(clock)),
      owner_(owner),
      where_("zookeeper " + settings.text()),
      timeout_(settings.session),
      random_(base::random_bits()) {}

Session::~Session() = default;

void Session::want(Instant now) {
  if (state_ != State::idle) return;
  begin(now);
  next_ = limit_;  // whatever comes, or does not
}

void Session::urge(Instant now) {
  if (state_ == State::waiting) limit_ = next_ = now;
}

void Session::begin(Instant now) {
  resolve_error_.clear();
  resolve_code_ = Errc::unavailable;
  endpoints_.assign(settings_.servers.size(), {});
  unresolved_ = settings_.servers.size();
  while (resolvers_.size() < settings_.servers.size()) {
    resolvers_.push_back(std::make_unique<base::Resolver>());
  }
  for (std::size_t i = 0; i < resolvers_.size(); ++i) resolvers_[i]->start(settings_.servers[i]);
  state_ = State::resolving;
  limit_ = now + resolve_time;
  resolved(now);
}

void Session::resolved(Instant now) {
  // From the last one on: `descriptor()` shows the first that is still awaited.
  while (unresolved_ > 0) {
    std::optional<base::Resolution> found = resolvers_[unresolved_ - 1]->take();
    if (!found && now < limit_) return;
    const std::size_t which = unresolved_ - 1;
    if (!found) {
      resolve_error_ = settings_.servers[which].host + ": the host name was not resolved in time";
      resolve_code_ = Errc::unavailable;
    } else if (!found->error.empty()) {
      resolve_error_ = settings_.servers[which].host + ": " + found->error;
      resolve_code_ = found->code;
    }
    for (const base::Endpoint& endpoint :
         found ? found->endpoints : std::vector<base::Endpoint>()) {
      endpoints_[which].push_back(endpoint.text());
    }
    unresolved_ = which;  // last: there may be no memory for the rest
  }
  std::vector<std::string> all;
  for (const auto& some : endpoints_) all.insert(all.end(), some.begin(), some.end());
  if (all.empty()) {
    trouble_ = {resolve_code_, where_ + ": " + resolve_error_};
    ++failures_;
    pause(now);
    owner_.session_down(*this);
    return;
  }
  // Not all clients begin with the same server.
  std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(random_.next() % all.size()),
              all.end());
  std::string list;
  for (const std::string& endpoint : all) list += (list.empty() ? "" : ",") + endpoint;
  Hosts hosts;
  for (std::size_t i = 0; tls_ != nullptr && i < endpoints_.size(); ++i) {
    for (const std::string& endpoint : endpoints_[i]) {
      hosts[endpoint].push_back(settings_.servers[i].host);
    }
  }
  endpoint_count_ = all.size();
  not_denied_ = std::move(all);
  open(list, std::move(hosts), now);
}

void Session::open(const std::string& servers, Hosts hosts, Instant now) {
  if (handle_) {
    // Only while disconnected: otherwise the C client loses track of its requests.
    if (servers != servers_) handle_->set_servers(servers, std::move(hosts));
  } else {
    try {
      handle_ = std::make_unique<Handle>(
          Handle::Options{.servers = servers,
                          .tls = tls_,
                          .hosts = std::move(hosts),
                          .credentials = settings_.digest().value_or(std::string()),
                          .creator_only = settings_.creator_only,
                          .session = settings_.session},
          static_cast<Handle::User&>(*this));
    } catch (const Error& error) {
      over(now, {error.errc(), where_ + ": " + base::words_of(error)}, true);
      return;
    }
  }
  servers_ = servers;
  connect(now);
}

void Session::connect(Instant now) {
  state_ = State::connecting;
  limit_ = now + std::min(longest_connect, timeout_ / 3);
  asked_to_connect_ = now;
  silence_ = {};
  timed_out_ = false;
  // A server turns away who has seen more than it has. Another one may lead on, as long as the
  // session can be alive. If it cannot, the servers have perhaps lost what they had: then they are
  // asked without that, and know nothing of the session.
  outlived_ = turned_away_ && now - down_since_ >= timeout_;
  handle_->hide_seen(outlived_);
  const Handle::Prepared prepared = handle_->prepare(now);
  if (prepared.failed) {
    attempt_failed(now);
  } else if (handle_->descriptor() < 0) {
    // It waits by itself after it has tried all servers.
    state_ = State::waiting;
    limit_ = prepared.again;
  }
}

void Session::attempt_failed(Instant now) {
  Failure why = failure();
  if (handle_ && id() != 0 && handle_->wire().turned_away()) {
    turned_away_ = true;
    if (down_since_ == never) down_since_ = now;
  }
  // A certificate that is refused, ours or theirs, at every server: asking again cannot help. A
  // session may live on, with its holds. The C client may try one server twice before it has tried
  // all of them.
  if (why.code == Errc::denied && handle_) {
    const auto found =
        std::find(not_denied_.begin(), not_denied_.end(), handle_->wire().endpoint());
    if (found != not_denied_.end()) not_denied_.erase(found);
    if (not_denied_.empty() && id() == 0) return over(now, why, true);
  }
  ++failures_;
  trouble_ = std::move(why);
  if (failures_ % endpoint_count_ == 0) {
    pause(now);
  } else {
    state_ = State::waiting;
    limit_ = now;
  }
  owner_.session_down(*this);
}

void Session::pause(Instant now) {
  state_ = State::waiting;
  limit_ = now + remote::backoff(failures_, random_.unit(), endpoint_count_);
}

void Session::run(short events, Instant now) {
  if (state_ == State::resolving) {
    resolved(now);
  } else if (state_ == State::connecting || state_ == State::up) {
    handle_->process(events);
    look(now);
  }
  if (state_ != State::up || now >= next_) tick(now);
}

void Session::look(Instant now) {
  switch (std::exchange(news_, News::none)) {
    case News::none:
      if (state_ == State::connecting && !handle_->wire().is_open()) attempt_failed(now);
      if (state_ == State::up && !given_up_.empty()) leave(now);
      return;
    case News::up: return came_up(now);
    case News::down: lost(now, failure()); return;
    case News::expired: over(now, {Errc::lost, where_ + ": the session expired"}, true); return;
    case News::refused:
      over(now, {Errc::denied, where_ + ": the server refused the user or the password"}, false);
      return;
    case News::no_user:
      over(now,
           {Errc::denied,
            where_ +
                (settings_.credentials.user.empty()
                     ? ": the server requires authentication; add a user and a password to the URL"
                     : ": the server requires another kind of authentication than a "
                       "user and a password")},
           false);
      return;
  }
}

void Session::came_up(Instant now) {
  state_ = State::up;
  timeout_ = handle_->session_timeout();
  // A ping each half tick, and what it takes. A session has two ticks at least.
  life_.set_report(std::min<std::chrono::nanoseconds>(settings_.margin / 10 * 11, timeout_ / 4));
  life_.connected(asked_to_connect_);
  // The first one proves what the connection has shown, and is not to wait.
  pulse = {.last = now - life_.report()};
  turned_away_ = false;
  down_since_ = never;
  trouble_ = Failure{};
  prepare_at_ = now;
  next_ = now;
  // Its servers are there, and may show less than it has seen.
  if (outlived_) given_up_ = "no server was reachable for longer than the session timeout";
  if (!given_up_.empty()) return leave(now);
  owner_.session_up(*this);
}

void Session::lost(Instant now, Failure why) {
  trouble_ = std::move(why);
  // A server that greets, answers nothing and hangs up is not to be connected to without a pause.
  // (By TLS both may be read at once: the connection was never seen up then.)
  const bool good = silence_.was_heard() || now - asked_to_connect_ >= remote::longest_pause;
  failures_ = good ? 0 : failures_ + 1;
  down_since_ = now;
  pause(now);
  life_.disconnected();
  drain_calls(Code::unknown);
  owner_.session_down(*this);
}

void Session::over(Instant now, const Failure& why, bool at_server) {
  ++failures_;
  trouble_ = {why.code == Errc::lost ? Errc::unavailable : Errc(why.code.value()), why.text};
  pause(now);  // first: nothing can be asked of it any more
  handle_.reset();
  news_ = News::none;
  // The next one may be at servers that know nothing of what this one has learned.
  life_.over();
  leader_wrote_ = 0;
  containers_ = true;
  given_up_.clear();
  down_since_ = never;
  turned_away_ = outlived_ = false;
  drain_calls(Code::ended);
  watches_.clear();
  owner_.session_over(*this, why, at_server);
}

// All that it owns goes with it, whatever rights there are to its nodes. Nothing is sent yet: who
// holds by this session has to know first that it does so no more, since the next one may have the
// name as soon as the server has read it.
void Session::leave(Instant now) {
  const Failure why{Errc::lost, where_ + ": " + given_up_};
  pause(now);
  left_ = std::move(handle_);
  left_->end();
  left_until_ = never;
  over(now, why, false);
}

// The connection stands until the server has read so.
void Session::end_left(Instant now) {
  if (!left_ || left_until_ != never) return;
  left_->flush();
  left_until_ = now + leaving_time;
  next_ = std::min(next_, left_until_);
}

void Session::tick(Instant now) {
  if (state_ == State::up) {
    // If the program stood still, there may be answers that no thread has read yet.
    handle_->process(POLLIN);
    look(now);
  }
  check_time(now);
  if (state_ == State::up && now >= prepare_at_) {
    const Handle::Prepared prepared = handle_->prepare(now);
    prepare_at_ = prepared.again;
    look(now);
  } else if (state_ == State::connecting) {
    if (handle_->prepare(now).failed) {
      news_ = News::none;
      attempt_failed(now);
    }
  }
  if (left_ && left_until_ != never) left_->flush();
  if (now >= left_until_) {
    left_.reset();
    left_until_ = never;
  }
  next_ = std::min(next_of_state(now), left_until_);
}

Instant Session::next_of_state(Instant now) const noexcept {
  switch (state_) {
    case State::idle: return never;
    case State::up: return std::min(prepare_at_, now + timeout_ / 6);
    case State::resolving:
    case State::waiting:
    case State::connecting: return limit_;
  }
  return limit_;
}

void Session::check_time(Instant now) {
  if (state_ == State::up) {
    // A connection that delivers answers is alive, even if the oldest request is late. A server may
    // need long for many requests.
    const Instant since = silence_.since();
    if (since == never || now < since + timeout_ / 3) return;
    timed_out_ = true;
    handle_->mark_broken(ETIMEDOUT);
    look(now);
  }
  if (now < limit_) return;
  if (state_ == State::resolving) {
    resolved(now);
  } else if (state_ == State::connecting) {
    timed_out_ = true;
    handle_->mark_broken(ETIMEDOUT);
    look(now);
  }
  // Perhaps it waits since just now, and not at all.
  if (state_ == State::waiting && now >= limit_) {
    // After a whole round of servers their names may mean others.
    if (handle_ && (failures_ == 0 || failures_ % endpoint_count_ != 0)) {
      connect(now);
    } else {
      begin(now);
    }
  }
}

bool Session::publish() {
  if (handle_) handle_->flush();
  if (silence_.since() == never && !calls_.empty()) silence_.sent(clock_->now());
  int descriptor = -1;
  short interest = 0;
  bool outstanding = state_ != State::idle;
  if (state_ == State::resolving && unresolved_ > 0) {
    descriptor = resolvers_[unresolved_ - 1]->descriptor();
    interest = POLLIN;
  } else if (state_ == State::connecting || state_ == State::up) {
    descriptor = handle_->descriptor();
    interest = handle_->interest();
  }
  if (state_ == State::up) {
    outstanding = awaiting > 0 || !calls_.empty() || handle_->wire().awaits_pong();
  }
  const Instant::rep due = next_.time_since_epoch().count();
  shown_outstanding_.store(outstanding);
  const bool moved = shown_descriptor_.exchange(descriptor) != descriptor;
  const bool other = shown_interest_.exchange(interest) != interest;
  return shown_due_.exchange(due) > due || moved || other;
}

void Session::end() noexcept {
  if (handle_) handle_->end();
  state_ = State::idle;
  next_ = never;
}

void Session::farewell(Instant until) noexcept {
  for (std::unique_ptr<Handle>* const each : {&handle_, &left_}) {
    if (*each) (*each)->farewell(until);
    each->reset();
  }
}

Failure Session::unavailable(const std::string& words) const {
  return {Errc::unavailable, where_ + ": " + words};
}

Failure Session::failure() const {
  if (!handle_) return unavailable("no answer");
  const Wire& wire = handle_->wire();
  if (const Failure& why = wire.why()) return {Errc(why.code.value()), where_ + ": " + why.text};
  if (timed_out_) {
    return unavailable(state_ == State::connecting ? "no connection in time" : "no answer in time");
  }
  if (wire.error() == 0) return unavailable("no answer");
  return {base::errc_of(wire.error()),
          where_ + ": " + std::generic_category().message(wire.error())};
}

}  // namespace mortise::zookeeper
