// SPDX-License-Identifier: MIT
#include "redis/connection/connection_life.hpp"

#include "redis/connection/connection.hpp"
#include "redis/topology/slots.hpp"
#include "remote/outbox.hpp"

#include <cstddef>
#include <exception>
#include <utility>

namespace mortise::redis {
namespace {

using State = remote::Link::State;

// If this many replies are under way, several callers are about to get their answers at once.
constexpr std::size_t several = 16;

}  // namespace

ConnectionLife::ConnectionLife(Connection& connection, ConnectionUser& user, Host& host,
                               const Settings& settings, const remote::Tls* tls, std::string inbox,
                               Shared shared, Sentinels* sentinels)
    : connection_(connection),
      user_(user),
      destination_(shared.destination),
      settings_(settings),
      inbox_(std::move(inbox)),
      clock_(host.clock()),
      link_(shared.link),
      pipeline_(shared.pipeline),
      descriptor_(shared.descriptor),
      approach_(settings, tls, sentinels, shared.descriptor) {}

void ConnectionLife::advance(Instant now) {
  go_on(now);
  if (link_.state() == State::idle) rest();
}

bool ConnectionLife::linger() {
  if (pipeline_.calls().count() == 0) return false;
  const bool came = receive(true);
  if (link_.state() == State::idle) rest();
  return came;
}

// A cluster leaves more and more servers behind that have no slot any more. They must cost nothing.
void ConnectionLife::rest() noexcept {
  approach_.rest();
  input_.rest();
}

void ConnectionLife::go_on(Instant now) {
  switch (link_.state()) {
    case State::idle:
      if (link_.is_to_begin(now)) begin(now);
      return;
    case State::resolving:
    case State::connecting:
      if (link_.is_broken()) break;  // the approach may have no stream any more
      come_closer(now);
      // The next look drops it. A server may send an error before it closes the connection; that
      // look reads the error first.
      if (link_.is_broken()) return;
      break;
    case State::greeting:
    case State::up:
      link_.looked();
      if (pipeline_.bytes().unblock() && pipeline_.write_rest()) user_.changed(connection_);
      static_cast<void>(receive(false));
      break;
  }
  check_time(now);
}

void ConnectionLife::check_time(Instant now) {
  using End = remote::Link::End;
  const End end = link_.end(now);
  if (end == End::none && (link_.state() != State::up || pipeline_.calls().due() > now)) return;
  if (end == End::connection_is_late) {
    return give_up_address(unavailable(approach_.words_of(end)), now);
  }
  // No step counts as done before the connection is dropped. A step that fails without memory is
  // repeated.
  std::optional<Failure> why;
  if (end == End::broken) why = pipeline_.why_broken();
  if (end == End::none && pipeline_.is_late(now)) why = unavailable("no answer in time");
  if (end != End::none && !why) why = unavailable(approach_.words_of(end));
  if (why) drop(*why);
}

Failure ConnectionLife::failure(Failure why) const {
  why.text = destination_.words() + ": " + why.text;
  return why;
}

Failure ConnectionLife::unavailable(const char* words) const {
  return failure({Errc::unavailable, words});
}

template <class Step>
bool ConnectionLife::takes_step(Step step) {
  const auto placed = [this](Failure why) { return failure(std::move(why)); };
  if (pipeline_.take_step(step, placed)) return true;
  user_.changed(connection_);
  return false;
}

void ConnectionLife::begin(Instant now) {
  link_.begin(now);
  if (const auto exact = destination_.exact()) {
    approach_.start(exact->endpoint, exact->host);
  } else {
    approach_.start(now);
  }
  link_.enter(approach_.connects() ? State::connecting : State::resolving);
  come_closer(now);
}

void ConnectionLife::come_closer(Instant now) {
  Approach::Step step = Approach::Step::waits;
  if (!takes_step([&] { step = approach_.advance(now); })) return;
  switch (step) {
    case Approach::Step::waits: return;
    case Approach::Step::goes_on:
      link_.next_server(now);
      if (approach_.connects()) link_.enter(State::connecting);
      return;
    case Approach::Step::arrived:
      link_.next_server(approach_.since());
      link_.came_closer(now);
      return follow(approach_.take());
    case Approach::Step::failed: return drop(failure(approach_.failure()));
  }
}

void ConnectionLife::follow(std::unique_ptr<remote::Stream> stream) {
  const auto greet = [&] {
    // First: if a later line throws, this object may read bytes of the stream before it drops it.
    input_.begin(settings_.is_cluster() && inbox_.empty() ? slots_limits : ReplyLimits{});
    destination_.arrive({stream->endpoint(), approach_.host()});
    const int descriptor = stream->descriptor();
    pipeline_.open(std::move(stream));
    descriptor_.store(descriptor);
    approach_.rest();
    greeting_.emplace(settings_, inbox_);
    static_cast<void>(pipeline_.greet(greeting_->bytes()));
  };
  if (!takes_step(greet)) return;
  link_.enter(State::greeting);
  if (pipeline_.write_rest()) user_.changed(connection_);
}

// The other addresses are tried even if the server at this one is silent, or cannot be used now.
void ConnectionLife::give_up_address(const Failure& why, Instant now) {
  if (!approach_.has_more() || remote::is_final(why) || link_.is_broken()) return drop(why);
  greeting_.reset();
  input_.end();
  pipeline_.open(nullptr);
  link_.enter(State::connecting);
  come_closer(now);
}

bool ConnectionLife::receive(bool sleeps) {
  bool any = false;
  while (remote::Stream* const stream = pipeline_.stream()) {
    const remote::Stream::Moved moved = input_.read(*stream, sleeps && !any);
    if (moved.status == remote::Stream::Status::again) return any;
    any = true;
    if (moved.status != remote::Stream::Status::done) {
      Failure why = failure(stream->failure());
      if (approach_.is_plain() && !input_.has_heard()) why.text += remote::perhaps_for_tls;
      if (link_.state() == State::greeting) {
        give_up_address(why, clock_->now());
      } else {
        drop(why);
      }
      return true;
    }
    if (!is_inbox() && pipeline_.calls().count() >= several) gather();
    take_replies();
    if (approach_.is_plain() && !input_.may_have_more(moved.bytes)) return true;
  }
  return any;
}

void ConnectionLife::take_replies() {
  try {
    while (input_.is_open()) {
      const ReplyReader::Next next = input_.next();
      if (next == ReplyReader::Next::more) return;
      if (next == ReplyReader::Next::broken) {
        return drop(failure({Errc::protocol, input_.error()}));
      }
      take(input_.reply());
    }
  } catch (const std::exception&) {
    if (link_.state() == State::idle) {
      pipeline_.calls().finish();
      throw;  // it was dropped, and its user could not take that
    }
    // An answer was read, and its caller did not get it. The caller would repeat its release, and
    // the server would answer that another client has the lock. No later reply may be read.
    pipeline_.calls().put_back();
    drop({Errc::exhausted, "no memory"});  // so short that it needs none
  }
}

void ConnectionLife::take(const Reply& reply) {
  if (link_.state() == State::greeting) return take_greeting(reply);
  if (!is_inbox()) return take_answer(reply);
  user_.pushed(reply);
  if (!reply.is_error()) link_.made_sense();
}

void ConnectionLife::take_greeting(const Reply& reply) {
  const Failure why = greeting_->read(destination_.words(), reply);
  if (why) return give_up_address(why, clock_->now());
  if (!greeting_->done()) return link_.came_closer(clock_->now());
  user_.greeted(connection_, greeting_->facts());
  if (link_.state() != State::greeting) return;  // it was refused
  greeting_.reset();
  approach_.remember(destination_.endpoint());
  const Instant now = clock_->now();
  pipeline_.greeted(now);
  link_.came_up(now);
  user_.connected(connection_);
  link_.is_welcome();
}

void ConnectionLife::take_answer(const Reply& reply) {
  SentCalls& calls = pipeline_.calls();
  Call* const call = calls.take_oldest();
  if (call == nullptr) {
    return drop(failure({Errc::protocol, "the server sent a reply to no request"}));
  }
  if (std::exchange(call->route.awaits_asking, false)) return calls.leave();
  const Instant now = calls.read(*clock_);
  user_.matched(*call, reply, now);
  pipeline_.answered(now);
  user_.answered(*call, reply);
  link_.made_sense();
  calls.finish();
}

void ConnectionLife::drop(const Failure& why) {
  const bool was_up = link_.state() == State::up;
  approach_.end(was_up);
  if (why.code == Errc::protocol) link_.made_no_sense();
  descriptor_.store(-1);
  destination_.lead_to(std::nullopt);
  Pipeline::Calls unanswered = pipeline_.end(clock_->now());
  greeting_.reset();
  input_.end();
  user_.dropped(connection_, why, was_up, std::move(unanswered));
}

std::list<Call> ConnectionLife::close() noexcept {
  approach_.close();
  descriptor_.store(-1);
  return pipeline_.end(Instant{});
}

}  // namespace mortise::redis
