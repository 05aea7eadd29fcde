// SPDX-License-Identifier: MIT
// Every place where one address could be taken for the server behind it: which of its two
// connections says so first, and which of the library's readers sees to it in between.
#include "redlock/node.hpp"

#include "base/farewell.hpp"
#include "redis/store/answer.hpp"

#include <optional>
#include <utility>

namespace mortise::redlock {
namespace {

constexpr const char* restarted = ": the server was restarted";

}  // namespace

void HintInbox::open(const std::string& channel) {
  if (inbox_.load() != nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    if (inbox_.load() != nullptr || is_detached_.load()) return;
    if (!owner_) {
      redis::Connection::User& user = *this;
      owner_ = std::make_unique<redis::Connection>(host_, settings_, tls_, channel, user);
    }
    host_.attach(*owner_);  // may throw: the next call tries again
    inbox_.store(owner_.get());
  }
  lead(true);
}

void HintInbox::lead(bool now) {
  redis::Connection* const inbox = inbox_.load();
  if (inbox != nullptr && !inbox->up() && commands_.up()) {
    inbox->want_at(commands_.destination().endpoint(), now);
  }
}

void HintInbox::follow(const std::string& run_id) {
  {
    const std::lock_guard lock(mutex_);
    run_id_ = run_id;
  }
  redis::Connection* const inbox = inbox_.load();
  if (inbox != nullptr && inbox->up() && !is_at_its_server()) {
    inbox->mark_broken({Errc::unavailable, inbox->where() + restarted});
  }
  lead(true);
}

// A thread that opens the inbox at this moment has attached it by then, or sees that it is too
// late: it would be polled after the end, by a client that is closed.
void HintInbox::detach() noexcept {
  redis::Connection* inbox = nullptr;
  {
    const std::lock_guard lock(mutex_);
    is_detached_.store(true);
    inbox = owner_.get();
  }
  if (inbox != nullptr) host_.detach(*inbox);
}

void HintInbox::close() noexcept {
  if (redis::Connection* const inbox = inbox_.load()) {
    base::without_memory([&] { static_cast<void>(inbox->close()); });
  }
}

bool HintInbox::is_at_its_server() {
  const std::lock_guard lock(mutex_);
  return run_id_ == its_run_id_;
}

void HintInbox::greeted(redis::Connection& /*connection*/, const redis::ServerFacts& facts) {
  const std::lock_guard lock(mutex_);
  its_run_id_ = facts.run_id;
}

// If there is no memory for this, the connection is dropped and made again.
void HintInbox::connected(redis::Connection& connection) {
  if (!is_at_its_server()) {
    return connection.drop({Errc::unavailable, connection.where() + restarted});
  }
  listens_.store(true);
  user_.listens();
}

void HintInbox::pushed(const redis::Reply& message) {
  // Others are the answers to subscriptions.
  if (message.kind != redis::Reply::Kind::array || message.items.size() != 3 ||
      message.items[0].text != "message") {
    return;
  }
  const std::optional<AttemptId> attempt = redis::parse_attempt(message.items[2].text);
  if (attempt) user_.hinted(*attempt);
}

void HintInbox::dropped(redis::Connection& /*connection*/, const Failure& /*why*/, bool was_up,
                        std::list<redis::Call> /*unanswered*/) {
  if (is_detached_.load()) return;
  listens_.store(false);
  lead(false);
  if (was_up) user_.stops_listening();
}

Node::Node(std::size_t index, Host& host, const redis::Settings& settings, const remote::Tls* tls,
           User& user)
    : index_(index),
      host_(host),
      settings_(settings),
      user_(user),
      commands_(host, settings, tls, std::string(), *this),
      inbox_(host, settings, tls, commands_, *this) {
  if (settings.connector || !remote::NameWatch::is_for(settings.address.host)) return;
  name_watch_ = std::make_unique<remote::NameWatch>(
      host, where(), [this](const Failure& why) { connect_anew(why, true); });
}

Node::~Node() = default;

void Node::attach() {
  attached_.store(true);
  host_.attach(sources_.answers);
  host_.attach(sources_.care);
  if (name_watch_) host_.attach(*name_watch_);
}

void Node::detach() noexcept {
  inbox_.detach();
  if (!attached_.exchange(false)) return;
  host_.detach(sources_.answers);
  host_.detach(sources_.care);
  if (name_watch_) host_.detach(*name_watch_);
}

std::list<redis::Call> Node::close() {
  inbox_.close();
  return commands_.close();
}

void Node::add_sources(std::vector<Source*>& sources) {
  sources.push_back(&sources_.answers);
  sources.push_back(&sources_.care);
}

redis::Connection::Sent Node::send(redis::Call call, std::string_view bytes) {
  if (!usable()) return redis::Connection::Sent::refused;
  return commands_.send(call, bytes);
}

void Node::connect_anew(const Failure& why, bool elsewhere) {
  now_.usable.store(false);
  elsewhere ? commands_.abandon(why) : commands_.mark_broken(why);
}

void Node::greeted(redis::Connection& /*connection*/, const redis::ServerFacts& facts) {
  now_.clock.forget();
  const Instant now = host_.clock()->now();
  if (facts.time != 0) now_.clock.read(now, redis::ServerTime(facts.time), now);
  const std::lock_guard lock(mutex_);
  found_.run_id = facts.run_id;
}

// If there is no memory for this, the connection is dropped and made again.
void Node::connected(redis::Connection& connection) {
  std::string run_id;
  {
    const std::lock_guard lock(mutex_);
    run_id = found_.run_id;
  }
  Server* const server = user_.recognise(*this, run_id);
  found_.why.clear();
  inbox_.follow(run_id);
  now_.server.store(server);
  now_.generation.store(commands_.calls().generation());
  now_.usable.store(true);
  // A leader that polls the other servers does not know of this one yet.
  host_.changed(sources_.answers);
  if (name_watch_) {
    const redis::Destination& there = connection.destination();
    name_watch_->begin(there.host(), there.endpoint());
  }
  user_.up(*this);
}

void Node::answered(const redis::Call& call, const redis::Reply& reply) {
  user_.answered(*this, call, reply);
}

// The two sources have different readers, and the reader of a source may be changing right now.
// Without a notice, a leader would sleep while the connection waits to be made.
void Node::changed(redis::Connection& /*connection*/) {
  host_.changed(sources_.answers);
  host_.changed(sources_.care);
}

void Node::dropped(redis::Connection& /*connection*/, const Failure& why, bool was_up,
                   std::list<redis::Call> unanswered) {
  if (!attached_.load()) return;
  if (name_watch_) name_watch_->end();
  now_.usable.store(false);
  found_.failed_at.put(host_.clock()->now());
  found_.why.note(why);
  if (was_up) host_.changed(sources_.care);
  user_.down(*this, was_up, std::move(unanswered));
}

}  // namespace mortise::redlock
