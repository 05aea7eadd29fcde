// SPDX-License-Identifier: MIT
#include "redis/connection/inbox_connection.hpp"

#include "redis/connection/server.hpp"
#include "remote/outbox.hpp"

#include <utility>

namespace mortise::redis {

InboxConnection::InboxConnection(Server& server, Host& host, ServerUser& user, Make make,
                                 std::unique_ptr<Listening> names)
    : server_(server), host_(host), user_(user), make_(std::move(make)), names_(std::move(names)) {}

InboxConnection::~InboxConnection() = default;

void InboxConnection::open(const std::string& channel) {
  if (!owned_) {
    channel_ = channel;
    owned_ = make_(channel, *this);
  }
  host_.attach(*owned_);  // may throw: the next call tries again
  connection_.store(owned_.get());
  lead(true);
}

bool InboxConnection::is_wanted() const noexcept { return owned_ && owned_->is_wanted(); }

bool InboxConnection::is_up() const noexcept {
  const Connection* const inbox = connection_.load();
  return inbox != nullptr && inbox->up();
}

void InboxConnection::attach() {
  if (owned_) host_.attach(*owned_);
}

void InboxConnection::detach() noexcept {
  if (owned_) host_.detach(*owned_);
}

void InboxConnection::close() noexcept {
  if (!owned_) return;
  host_.detach(*owned_);
  static_cast<void>(owned_->close());
}

void InboxConnection::renew() {
  state_.renew();
  lead(true);
}

void InboxConnection::break_if_strayed() {
  Connection* const inbox = connection_.load();
  if (inbox == nullptr || !inbox->up()) return;
  const std::string run_id = server_.identity().start().run_id;
  bool is_same = false;
  {
    const std::lock_guard lock(mutex_);
    is_same = run_id == run_id_;
  }
  if (!is_same) inbox->mark_broken(server_.started_anew());
}

// If it has reached another server, it pauses, although the other connection comes up again at
// once: the address may lead to two servers.
void InboxConnection::lead(bool now) {
  Connection* const inbox = connection_.load();
  const Connection& commands = server_.commands();
  if (inbox == nullptr || inbox->up() || !commands.up()) return;
  const Destination& there = commands.destination();
  inbox->want_at(there.endpoint(), now && !has_strayed_.load(), there.host());
}

void InboxConnection::mark_broken(const Failure& why) noexcept {
  if (Connection* const inbox = connection_.load()) inbox->mark_broken(why);
}

bool InboxConnection::begins_probe(Instant now) {
  Connection* const inbox = connection_.load();
  if (inbox == nullptr) return false;
  const InboxState::Probe probe = state_.probe(now);
  if (probe == InboxState::Probe::failed) {
    inbox->mark_broken(
        {Errc::unavailable, inbox->where() + ": the inbox connection does not answer"});
  }
  return probe == InboxState::Probe::begin;
}

void InboxConnection::greeted(Connection& /*connection*/, const ServerFacts& facts) {
  const std::lock_guard lock(mutex_);
  run_id_ = facts.run_id;
}

void InboxConnection::connected(Connection& connection) {
  const remote::ServerIdentity::Start met = server_.identity().start();
  bool is_same = false;
  {
    const std::lock_guard lock(mutex_);
    is_same = met.run_id == run_id_;
  }
  state_.why_deaf().clear();
  has_strayed_.store(!is_same);
  // See `Server::dropped()`: the connection for commands broke after this one began.
  if (server_.has_sentinels() && !server_.commands().up()) {
    return connection.abandon({Errc::unavailable, "the connection for commands broke"});
  }
  if (is_same) {
    state_.comes_up(met.clock);
    return user_.listens(server_);
  }
  // It leads to a later start of the server, so the other connection is dead. The exception: the
  // other connection leads elsewhere by now, and this server was only slow to greet.
  const bool is_elsewhere =
      server_.has_sentinels() && connection.destination().endpoint().text() !=
                                     server_.commands().destination().endpoint().text();
  if (!is_elsewhere) server_.commands().mark_broken(server_.started_anew());
  connection.drop(server_.started_anew());
}

void InboxConnection::pushed(const Reply& message) { user_.pushed(server_, message); }

void InboxConnection::dropped(Connection& /*connection*/, const Failure& why, bool was_up,
                              std::list<Call> /*unanswered*/) {
  if (server_.has_ended()) return;
  // Any client with the permission to publish can send an invalid message to an inbox. That costs
  // the connection. The waiters ask again.
  const bool for_good = remote::is_final(why) && why.code != Errc::protocol;
  state_.goes_down();
  if (names_) names_->forget();
  if (for_good) state_.why_deaf().note(why);
  state_.decide();
  lead(false);  // first: without an inbox no waiter joins a queue
  user_.lost_inbox(server_, why, for_good);
  // The other connection may have broken for the same reason, and no thread may be looking at it.
  if (was_up) server_.commands().suspect();
}

}  // namespace mortise::redis
