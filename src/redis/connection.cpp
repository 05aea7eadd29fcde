// SPDX-License-Identifier: MIT
// How a connection comes and goes; its bytes are in connection_traffic.cpp. Only the reader's role
// makes, greets and drops one, so no step of that has to expect another in between; other threads
// mark it, and have it looked at.
#include "redis/connection.hpp"

#include "base/error_words.hpp"
#include "redis/slots.hpp"
#include "remote/outbox.hpp"

#include <poll.h>

#include <array>
#include <iterator>
#include <utility>

namespace mortise::redis {

Connection::Connection(Host& host, const Settings& settings, const remote::Tls* tls,
                       std::string inbox, User& user, std::mutex* mutex,
                       std::atomic<std::uint64_t>* generations, Sentinels* sentinels)
    : settings_(settings),
      tls_(tls),
      inbox_(std::move(inbox)),
      where_(settings.where()),
      user_(user),
      clock_(host.clock()),
      sentinels_(sentinels),
      address_(settings.address),
      race_(tls, remote::connect_time),
      link_(base::random_bits()),
      mutex_(mutex != nullptr ? *mutex : own_mutex_),
      calls_(generations) {
  if (sentinels != nullptr) search_.emplace(settings, tls, *sentinels);
  if (settings.connector) dialer_.emplace(settings.connector, settings.address);
}

Connection::~Connection() = default;

void Connection::want(bool now) {
  if (link_.want(now)) user_.changed(*this);
}

void Connection::want_at(const base::Endpoint& endpoint, bool now, const std::string& host) {
  {
    const std::lock_guard lock(mutex_);
    only_ = endpoint;
    only_host_ = host;
  }
  want(now);
}

base::Endpoint Connection::endpoint() const {
  const std::lock_guard lock(mutex_);
  return endpoint_;
}

std::string Connection::host() const {
  const std::lock_guard lock(mutex_);
  return host_;
}

short Connection::interest_of_stream() const noexcept {
  const State state = link_.state();
  if (state == State::idle) return 0;
  if (state == State::resolving || state == State::connecting) return step_interest_.load();
  std::shared_ptr<Stream> stream;
  {
    const std::lock_guard lock(mutex_);
    stream = stream_;
  }
  const int more = stream ? stream->interest() : 0;
  return static_cast<short>(more | POLLIN | (blocked_.load() ? POLLOUT : 0));
}

void Connection::ready(short /*events*/, Instant now) {
  // Whoever lingers will see what there is.
  const Role role(reading_);
  if (!role) return;
  read_and_advance(now);
  if (link_.state() == State::idle) let_go();
}

// In a cluster there are ever more servers that have no slot any more, and those cost nothing.
void Connection::let_go() noexcept {
  resolver_.rest();
  if (dialer_) dialer_->rest();
  read_buffer_ = {};
  reply_ = {};
}

void Connection::read_and_advance(Instant now) {
  switch (link_.state()) {
    case State::idle:
      if (link_.is_to_begin(now)) begin(now);
      return;
    case State::resolving:
      if (dialer_) {
        dialed();
      } else if (searching_) {
        search(now);
      } else {
        resolved();
      }
      break;
    case State::connecting:
      advance(now);
      // What the server says before it hangs up is read before that is believed.
      if (link_.is_broken() && link_.state() == State::greeting) return;
      break;
    case State::greeting:
    case State::up:
      link_.looked();
      if (blocked_.exchange(false)) write_queued();
      receive(false);
      break;
  }
  check_time(now);
}

void Connection::check_time(Instant now) {
  using End = remote::Link::End;
  const End end = link_.end(now);
  if (end == End::none && (link_.state() != State::up || deadline_.get() > now)) return;
  if (end == End::connection_is_late) return give_up_address(unavailable(words_of(end)), now);
  // Nothing is taken for done before it is dropped: what fails for want of memory is done again.
  std::optional<Failure> why;
  {
    const std::lock_guard lock(mutex_);
    if (end == End::broken) why = why_broken_;
    if (end == End::none && deadline_locked() <= now) why = unavailable("no answer in time");
  }
  if (end != End::none && !why) why = unavailable(words_of(end));
  if (why) drop(*why);
}

const char* Connection::words_of(remote::Link::End end) const noexcept {
  if (dialer_ && end == remote::Link::End::name_is_late) return remote::connector_is_late;
  return remote::Link::words(end);
}

Failure Connection::unavailable(const char* words) const {
  return {Errc::unavailable, where_ + ": " + words};
}

void Connection::begin(Instant now) {
  link_.begin(now);
  if (dialer_) {
    step_interest_.store(POLLIN);
    dialer_->start();
    descriptor_.store(dialer_->descriptor());
    link_.enter(State::resolving);
    dialed();
    return;
  }
  std::optional<base::Endpoint> only;
  {
    const std::lock_guard lock(mutex_);
    only = only_;
    if (only && !only_host_.empty()) address_.host = only_host_;
  }
  if (only) return race({*only});
  if (!search_) return resolve();
  search_->start(now);
  searching_ = true;
  link_.enter(State::resolving);
  search(now);
}

// Each sentinel has a time of its own, and so has what comes after them.
void Connection::search(Instant now) {
  std::optional<SentinelAnswer> found = search_->advance(now);
  link_.next_server(now);
  if (!found) {
    step_interest_.store(search_->interest());
    step_due_.set(search_->due());
    descriptor_.store(search_->descriptor());
    return;
  }
  searching_ = false;
  if (found->failure) {
    found->failure.text = where_ + ": " + found->failure.text;
    return drop(found->failure);
  }
  address_ = std::move(found->master);
  resolve();
}

void Connection::resolve() {
  step_interest_.store(POLLIN);
  step_due_.set(never);
  resolver_.start(address_);
  descriptor_.store(resolver_.descriptor());
  link_.enter(State::resolving);
  resolved();
}

void Connection::resolved() {
  std::optional<base::Resolution> found = resolver_.take();
  if (!found) return;
  if (found->endpoints.empty()) {
    drop({found->code, where_ + ": " + found->error});
  } else {
    race(std::move(found->endpoints));
  }
  resolver_.rest();  // nobody polls its descriptor any more
}

void Connection::dialed() {
  std::optional<remote::Dialed> made = dialer_->take();
  if (!made) return;
  if (!made->socket) return drop({made->code, where_ + ": " + made->error});
  race_.start(remote::adopt_stream(std::move(made->socket), made->peer, remote::Unsent::dropped,
                                   tls_, settings_.address.host));
  link_.enter(State::connecting);
  advance(clock_->now());
  dialer_->rest();
}

void Connection::race(std::vector<base::Endpoint> endpoints) {
  race_.start(std::move(endpoints), address_.host);
  link_.enter(State::connecting);
  advance(clock_->now());
}

void Connection::show_race() noexcept {
  step_interest_.store(race_.interest());
  step_due_.set(race_.due());
  descriptor_.store(race_.descriptor());
}

void Connection::advance(Instant now) {
  // Each address has its time from the race; a try as a whole has none of its own.
  link_.next_server(now);
  switch (race_.advance(now)) {
    case remote::StreamRace::Status::again: return show_race();
    case remote::StreamRace::Status::connected: break;
    case remote::StreamRace::Status::failed: {
      Failure why = race_.failure();
      why.text = where_ + ": " + why.text;
      return drop(why);
    }
  }
  link_.next_server(race_.since());
  follow(race_.take());
}

void Connection::follow(std::shared_ptr<Stream> stream) {
  const base::Endpoint endpoint = stream->endpoint();
  descriptor_.store(stream->descriptor());
  {
    const std::lock_guard lock(mutex_);
    stream_.swap(stream);
    endpoint_ = endpoint;
    host_ = address_.host;
    out_.clear();
    blocked_.store(false);
  }
  greet();
}

// A server that is silent, or cannot be used now, must not stand for the other addresses.
void Connection::give_up_address(const Failure& why, Instant now) {
  if (!race_.has_more() || remote::is_final(why) || link_.is_broken()) return drop(why);
  greeting_.reset();
  reader_.reset();
  std::shared_ptr<Stream> stream;  // closed after the mutex was left
  {
    const std::lock_guard lock(mutex_);
    stream.swap(stream_);
    out_.clear();
    blocked_.store(false);
  }
  link_.enter(State::connecting);
  advance(now);
}

void Connection::greet() {
  try {
    greeting_.emplace(settings_, inbox_);
  } catch (const Error& error) {
    drop({error.errc(), where_ + ": " + base::words_of(error)});
    return;
  }
  reader_.emplace(settings_.is_cluster() && inbox_.empty() ? slots_limits : ReplyLimits{});
  heard_ = false;
  {
    const std::lock_guard lock(mutex_);
    round_trip_.begin(clock_->now());
    out_ = greeting_->bytes();
  }
  link_.enter(State::greeting);
  write_queued();
}

void Connection::suspect() {
  link_.suspect();
  user_.changed(*this);
}

void Connection::mark_broken(const Failure& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (link_.state() != State::up) return;
    break_locked([&] { return why; });
  }
  user_.changed(*this);
}

void Connection::abandon(const Failure& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (link_.state() == State::idle) return;
    break_locked([&] { return why; });
  }
  user_.changed(*this);
}

void Connection::drop(const Failure& why) {
  std::list<Call> unanswered;
  const bool was_up = link_.state() == State::up;
  end_search(was_up);
  race_.end();
  const Instant now = clock_->now();
  std::shared_ptr<Stream> stream;  // closed after the mutex was left
  {
    const std::lock_guard lock(mutex_);
    if (why.code == Errc::protocol) link_.made_no_sense();
    link_.drop(now);
    descriptor_.store(-1);
    stream.swap(stream_);
    unanswered = calls_.end();
    note_calls();
    out_.clear();
    gathering_.store(false);
    blocked_.store(false);
    why_broken_.reset();
    only_.reset();
  }
  greeting_.reset();
  reader_.reset();
  user_.dropped(*this, why, was_up, std::move(unanswered));
}

// Whom the sentinels have named, and who is none to connect to, is not asked of the same one again.
void Connection::end_search(bool was_up) noexcept {
  if (!search_) return;
  search_->end();
  step_due_.set(never);
  if (!std::exchange(searching_, false) && !was_up) sentinels_->misled();
}

std::list<Call> Connection::close() noexcept {
  if (search_) search_->end();
  if (dialer_) dialer_->forget();
  race_.end();
  std::shared_ptr<Stream> stream;
  const std::lock_guard lock(mutex_);
  link_.leave();
  descriptor_.store(-1);
  stream.swap(stream_);
  out_.clear();
  std::list<Call> unanswered = calls_.end();
  note_calls();
  return unanswered;
}

}  // namespace mortise::redis
