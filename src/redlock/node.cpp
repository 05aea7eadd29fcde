// SPDX-License-Identifier: MIT
// Every place where one address could be taken for the server behind it: which of its two
// connections says so first, and which of the library's readers sees to it in between.
#include "redlock/node.hpp"

#include "base/farewell.hpp"
#include "base/one_by_one.hpp"

#include <utility>

namespace mortise::redlock {

int Node::Answers::descriptor() const noexcept {
  return node_.commands_.up() ? node_.commands_.descriptor() : -1;
}

short Node::Answers::interest() const noexcept {
  return node_.commands_.up() ? node_.commands_.interest() : short{0};
}

Instant Node::Answers::due() const noexcept {
  return node_.commands_.up() ? node_.commands_.due() : never;
}

bool Node::Answers::outstanding() const noexcept {
  if (!node_.commands_.up()) return false;
  // Also where nobody waits for the answer any more: a vote that is taken back stands until then.
  const bool half_sent = node_.commands_.blocked();
  return half_sent || (node_.user_.awaits() && node_.commands_.outstanding());
}

int Node::Care::descriptor() const noexcept {
  return node_.commands_.up() ? -1 : node_.commands_.descriptor();
}

short Node::Care::interest() const noexcept {
  return node_.commands_.up() ? short{0} : node_.commands_.interest();
}

Node::Node(std::size_t index, Host& host, const redis::Settings& settings, const remote::Tls* tls,
           User& user)
    : index_(index),
      host_(host),
      settings_(settings),
      tls_(tls),
      user_(user),
      commands_(host, settings, tls, std::string(), *this),
      server_(unmet(index)) {
  if (settings.connector || !remote::NameWatch::is_for(settings.address.host)) return;
  name_watch_ = std::make_unique<remote::NameWatch>(
      host, where(), [this](const Failure& why) { commands_.mark_broken(why); });
}

Node::~Node() = default;

void Node::attach() {
  attached_.store(true);
  host_.attach(answers_);
  host_.attach(care_);
  if (name_watch_) host_.attach(*name_watch_);
}

void Node::detach() noexcept {
  redis::Connection* inbox = nullptr;
  {
    // Whoever opens the inbox at this moment has attached it by then, or sees that it is too late:
    // it would be polled after the end, by a client that is closed.
    const std::lock_guard lock(mutex_);
    if (!attached_.exchange(false)) return;
    inbox = inbox_owner_.get();
  }
  host_.detach(answers_);
  host_.detach(care_);
  if (name_watch_) host_.detach(*name_watch_);
  if (inbox != nullptr) host_.detach(*inbox);
}

std::list<redis::Call> Node::close() {
  if (redis::Connection* const inbox = inbox_.load()) {
    base::without_memory([&] { static_cast<void>(inbox->close()); });
  }
  return commands_.close();
}

void Node::want(bool now) { commands_.want(now); }

Failure Node::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

Instant Node::failed_at() const {
  const std::lock_guard lock(mutex_);
  return failed_at_;
}

redis::Connection::Sent Node::send(redis::Call call, std::string_view bytes) {
  if (!usable_.load()) return redis::Connection::Sent::refused;
  return commands_.send(call, bytes);
}

void Node::listen(const std::string& channel) {
  if (inbox_.load() != nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    if (inbox_.load() != nullptr || !attached_.load()) return;
    if (!inbox_owner_) {
      redis::Connection::User& user = *this;
      inbox_owner_ = std::make_unique<redis::Connection>(host_, settings_, tls_, channel, user);
    }
    host_.attach(*inbox_owner_);  // may throw: the next call tries again
    inbox_.store(inbox_owner_.get());
  }
  lead_inbox(true);
}

// To the very same server, which a name need not lead to twice.
void Node::lead_inbox(bool now) {
  redis::Connection* const inbox = inbox_.load();
  if (inbox != nullptr && !inbox->up() && commands_.up()) {
    inbox->want_at(commands_.endpoint(), now);
  }
}

void Node::greeted(redis::Connection& connection, const redis::ServerFacts& facts) {
  if (&connection == &commands_) {
    clock_.forget();
    const Instant now = host_.clock()->now();
    if (facts.time != 0) clock_.read(now, redis::ServerTime(facts.time), now);
  }
  const std::lock_guard lock(mutex_);
  (&connection == &commands_ ? run_id_ : inbox_run_id_) = facts.run_id;
}

// Where there is no memory for this the connection is dropped, and made anew.
void Node::connected(redis::Connection& connection) {
  welcome(connection);
  if (&connection == &commands_) {
    if (name_watch_) name_watch_->begin(connection.host(), connection.endpoint());
    user_.up(*this);
  } else if (listens_.load()) {
    user_.listens(*this);
  }
}

void Node::welcome(redis::Connection& connection) {
  std::string run_id;
  bool same = false;
  {
    const std::lock_guard lock(mutex_);
    run_id = run_id_;
    same = run_id_ == inbox_run_id_;
  }
  redis::Connection* const inbox = inbox_.load();
  if (&connection != &commands_) {
    if (!same) {
      connection.drop({Errc::unavailable, where() + ": the server was restarted"});
      return;
    }
    listens_.store(true);
    return;
  }
  user_.recognise(*this, run_id);
  {
    const std::lock_guard lock(mutex_);
    why_ = Failure{};
  }
  if (inbox != nullptr && inbox->up() && !same) {
    inbox->mark_broken({Errc::unavailable, where() + ": the server was restarted"});
  }
  lead_inbox(true);
  server_.store(server_of(run_id));
  generation_.store(commands_.generation());
  usable_.store(true);
  // A leader that polls the other servers does not know of this one yet.
  host_.changed(answers_);
}

void Node::answered(const redis::Call& call, const redis::Reply& reply) {
  user_.answered(*this, call, reply);
}

// The two have different readers, and which of them sees to it may be changing right now: a leader
// that was not told would sleep on while the connection waits to be made.
void Node::changed(redis::Connection& connection) {
  if (&connection != &commands_) {
    host_.changed(connection);
    return;
  }
  host_.changed(answers_);
  host_.changed(care_);
}

void Node::pushed(const redis::Reply& message) {
  // Others are the answers to subscriptions.
  if (message.kind != redis::Reply::Kind::array || message.items.size() != 3 ||
      message.items[0].text != "message") {
    return;
  }
  const std::optional<AttemptId> attempt = redis::parse_attempt(message.items[2].text);
  if (attempt) user_.hinted(*this, *attempt);
}

void Node::dropped(redis::Connection& connection, const Failure& why, bool was_up,
                   std::list<redis::Call> unanswered) {
  if (!attached_.load()) return;
  if (&connection != &commands_) {
    listens_.store(false);
    lead_inbox(false);
    // Whatever broke it may have broken the other one, which nobody may be looking at.
    if (was_up) commands_.suspect();
    return;
  }
  if (name_watch_) name_watch_->end();
  // Where there is no memory for one of these: an address that counts as usable is never connected
  // to again, and what was not answered is told by nobody else.
  base::OneByOne each;
  each([&] { user_.breaks(*this, unanswered); });
  usable_.store(false);
  each([&] {
    const std::lock_guard lock(mutex_);
    failed_at_ = host_.clock()->now();
    why_ = why;
  });
  if (was_up) host_.changed(care_);
  each([&] { user_.down(*this, was_up, std::move(unanswered)); });
  each.finish();
}

}  // namespace mortise::redlock
