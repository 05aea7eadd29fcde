// SPDX-License-Identifier: MIT
#include "kit/connection.hpp"

#include "base/error_words.hpp"
#include "base/random_id.hpp"
#include "remote/outbox.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <utility>

namespace mortise::kit {
namespace {

using State = remote::Link::State;
using Message = remote::Message;

constexpr std::size_t one_read = std::size_t{16} << 10U;

bool is_push(const Message& message) noexcept { return message.kind == Message::Kind::handed_over; }

}  // namespace

Connection::Connection(Host& host, const Destination& destination, const remote::Protocol& protocol,
                       ConnectionUser& user, std::mutex& mutex)
    : host_(host),
      destination_(destination),
      protocol_(protocol),
      user_(user),
      link_(base::random_bits()),
      pipeline_([&user](const Call& call) { return user.admits(call); }, *host.clock(), link_,
                &mutex, nullptr),
      approach_(nullptr, destination.connector, destination.address, descriptor_) {}

void Connection::want(bool now) {
  if (link_.want(now)) host_.changed(*this);
}

void Connection::mark_broken() noexcept {
  if (link_.state() == State::idle) return;
  link_.mark_broken();
  host_.changed(*this);
}

Pipeline::Sent Connection::send(Call& call, std::string_view bytes) {
  const Pipeline::Sending sending = pipeline_.send(&call, bytes);
  if (sending.is_stopped) host_.changed(*this);
  return sending.sent;
}

short Connection::interest() const noexcept {
  switch (link_.state()) {
    case State::idle: return 0;
    case State::resolving:
    case State::connecting: return approach_.interest();
    case State::greeting:
    case State::up: break;
  }
  return pipeline_.interest();
}

Instant Connection::due() const noexcept {
  const Instant due = link_.due([this] { return pipeline_.calls().due(); });
  return link_.is_under_way() ? std::min(due, approach_.due()) : due;
}

void Connection::ready(short /*events*/, Instant now) {
  go_on(now);
  if (link_.state() != State::idle) return;
  approach_.rest();
  received_ = {};
}

void Connection::go_on(Instant now) {
  switch (link_.state()) {
    case State::idle:
      if (!link_.is_to_begin(now)) return;
      link_.begin(now);
      approach_.start();
      link_.enter(State::resolving);
      come_closer(now);
      return;
    case State::resolving:
    case State::connecting:
      if (link_.is_broken()) break;  // the approach may have no stream any more
      come_closer(now);
      if (link_.is_broken()) return;  // the next look drops it
      break;
    case State::greeting:
    case State::up:
      link_.looked();
      if (pipeline_.bytes().unblock() && pipeline_.write_rest()) host_.changed(*this);
      receive();
      break;
  }
  give_up_if_late(now);
}

template <class Step>
bool Connection::takes_step(Step step) {
  const auto placed = [this](Failure why) { return failure(std::move(why)); };
  if (pipeline_.take_step(step, placed)) return true;
  host_.changed(*this);
  return false;
}

void Connection::come_closer(Instant now) {
  using Step = remote::Approach::Step;
  Step step = Step::waits;
  if (!takes_step([&] { step = approach_.advance(now); })) return;
  if (step == Step::waits) return;
  if (step == Step::failed) return drop(failure(approach_.failure()));
  if (step == Step::goes_on) {
    link_.next_server(now);
    if (approach_.connects()) link_.enter(State::connecting);
    return;
  }
  link_.next_server(approach_.since());
  link_.came_closer(now);
  // First: it closes with this function if there is no greeting for it.
  std::unique_ptr<remote::Stream> stream = approach_.take();
  const auto greet = [&] {
    std::string greeting;
    protocol_.greet(greeting);
    endpoint_ = stream->endpoint();
    const int descriptor = stream->descriptor();
    approach_.rest();
    received_.clear();
    pipeline_.open(std::move(stream));
    descriptor_.store(descriptor);
    greeting_left_ = pipeline_.greet(greeting);
  };
  if (!takes_step(greet)) return;
  link_.enter(State::greeting);
  if (pipeline_.write_rest()) host_.changed(*this);
}

void Connection::receive() {
  while (remote::Stream* const stream = pipeline_.stream()) {
    const std::size_t before = received_.size();
    received_.resize(before + one_read);
    const remote::Stream::Moved moved = stream->read({received_.data() + before, one_read});
    const bool came = moved.status == remote::Stream::Status::done;
    received_.resize(before + (came ? moved.bytes : 0));
    if (moved.status == remote::Stream::Status::again) return;
    if (!came) {
      const Failure why = failure(stream->failure());
      return link_.state() == State::greeting ? give_up_address(why, host_.clock()->now())
                                              : drop(why);
    }
    take_messages();
    if (moved.bytes < one_read) return;
  }
}

void Connection::take_messages() {
  std::string_view bytes = received_;
  try {
    while (link_.state() != State::idle) {
      const std::optional<Message> message = protocol_.read(bytes);
      if (!message) break;
      take(*message);
    }
  } catch (const Error& error) {
    if (link_.state() != State::idle) drop(failure({error.errc(), base::words_of(error)}));
    return;
  } catch (const std::exception& error) {
    if (link_.state() == State::idle) throw;  // it was dropped, and its user could not take that
    // Messages in front of this one were taken. If they were read again, other calls would get
    // their answers (S1).
    const bool is_full = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    drop(is_full ? Failure{Errc::exhausted, "no memory"}
                 : failure({Errc::protocol, "the protocol cannot read a message of the server"}));
    return;
  }
  if (link_.state() == State::idle) return;
  received_.erase(0, received_.size() - bytes.size());
  if (received_.size() <= remote::Protocol::longest_message) return;
  drop(failure({Errc::protocol, "the server sent a message that is too long"}));
}

void Connection::take(const Message& message) {
  if (link_.state() == State::up) {
    is_push(message) ? user_.pushed(message) : take_answer(message);
    if (link_.state() == State::up) link_.made_sense();
    return;
  }
  if (message.kind == Message::Kind::refused) return drop(failure(message.why));
  if (message.kind != Message::Kind::greeting) {
    return drop(failure({Errc::protocol, "the server did not answer the greeting"}));
  }
  if (message.server.empty()) {
    return drop(failure({Errc::protocol, "the greeting does not identify the server"}));
  }
  const Instant now = host_.clock()->now();
  pipeline_.greeted(now);
  user_.greeted(message, greeting_left_);
  approach_.remember(endpoint_);
  link_.came_up(now);
  user_.connected(endpoint_);
  link_.is_welcome();
}

void Connection::take_answer(const Message& message) {
  remote::SentCalls<Call>& calls = pipeline_.calls();
  const Call* const call = calls.take_oldest();
  if (call == nullptr) {
    return drop(failure({Errc::protocol, "the server sent an answer to no request"}));
  }
  pipeline_.answered(calls.read(*host_.clock()));
  try {
    user_.answered(*call, message);
  } catch (const std::exception&) {
    if (link_.state() == State::idle) {
      calls.finish();
      throw;  // it was dropped, and its user could not take that
    }
    // The answer was read, and its caller did not get it. No later answer may be read.
    calls.put_back();
    return drop({Errc::exhausted, "no memory"});  // so short that it needs none
  }
  calls.finish();
}

void Connection::give_up_if_late(Instant now) {
  using End = remote::Link::End;
  const End end = link_.end(now);
  if (end == End::connection_is_late) {
    return give_up_address(failure({Errc::unavailable, approach_.words_of(end)}), now);
  }
  if (const std::optional<Failure> why = pipeline_.why_broken(); end == End::broken && why) {
    return drop(*why);
  }
  if (end != End::none) return drop(failure({Errc::unavailable, approach_.words_of(end)}));
  if (link_.state() == State::up && pipeline_.calls().due() <= now && pipeline_.is_late(now)) {
    drop(failure({Errc::unavailable, "no answer in time"}));
  }
}

// The other addresses of the name are tried even if the server at this one is silent.
void Connection::give_up_address(const Failure& why, Instant now) {
  if (!approach_.has_more() || remote::is_final(why) || link_.is_broken()) return drop(why);
  pipeline_.open(nullptr);
  link_.enter(State::connecting);
  come_closer(now);
}

void Connection::drop(const Failure& why) {
  const bool was_up = link_.state() == State::up;
  approach_.end();
  if (why.code == Errc::protocol) link_.made_no_sense();
  descriptor_.store(-1);
  user_.dropped(why, was_up, pipeline_.end(host_.clock()->now()));
}

std::list<Call> Connection::close() noexcept {
  approach_.close();
  descriptor_.store(-1);
  return pipeline_.end(Instant{});
}

Failure Connection::failure(Failure why) const {
  why.text = destination_.where + ": " + why.text;
  return why;
}

}  // namespace mortise::kit
