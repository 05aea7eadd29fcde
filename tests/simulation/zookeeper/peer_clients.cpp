// SPDX-License-Identifier: MIT
// One server of an ensemble and its clients: connections, sessions, requests.
#include "simulation/zookeeper/numbers.hpp"
#include "simulation/zookeeper/peer.hpp"
#include "simulation/zookeeper/rights.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace simulation::zookeeper {
namespace {

constexpr int default_min_ticks = 2;
constexpr int default_max_ticks = 20;
constexpr unsigned server_bits = 56;  // of a session's id, above which its first server's is

std::int64_t milliseconds_of(Nanos time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

bool known(std::int32_t type) noexcept {
  switch (type) {
    case op::create:
    case op::remove:
    case op::exists:
    case op::get_data:
    case op::set_data:
    case op::get_acl:
    case op::set_acl:
    case op::get_children:
    case op::sync:
    case op::ping:
    case op::get_children_2:
    case op::check:
    case op::multi:
    case op::create_2:
    case op::check_watches:
    case op::remove_watches:
    case op::create_container:
    case op::create_ttl:
    case op::set_watches:
    case op::set_watches_2:
    case op::close_session: return true;
    default: return false;
  }
}

}  // namespace

void Peer::greeted(Connection& connection, const Greeting& greeting) {
  // One that does not serve, or lags behind what the client has seen, sends it elsewhere.
  if (!serving_ || greeting.seen > tree_.last()) {
    connections_.hang_up(connection);
    return;
  }
  const auto or_ticks = [&](Nanos set, int ticks) {
    return static_cast<std::int32_t>(
        milliseconds_of(set != Nanos::zero() ? set : ticks * options_.tick));
  };
  connection.timeout =
      std::clamp(greeting.timeout, or_ticks(options_.min_session, default_min_ticks),
                 or_ticks(options_.max_session, default_max_ticks));
  if (greeting.session == 0) {
    create_session(connection);
    return;
  }
  // The session's old connection to this server, if there is one.
  if (Connection* const before = connections_.of_session(greeting.session)) {
    connections_.hang_up(*before);
  }
  connections_.bind(connection, greeting.session);
  if (greeting.password != password_of(greeting.session)) {
    connections_.welcome(connection, false);
  } else {
    revalidate(connection);
  }
}

void Peer::create_session(Connection& connection) {
  constexpr unsigned counted_bits = 16;
  const auto since = static_cast<std::uint64_t>(milliseconds_of(site_.uptime()));
  const auto first = static_cast<std::int64_t>((since << counted_bits) |
                                               static_cast<std::uint64_t>(index_) << server_bits);
  // Not again what was given before a restart.
  next_session_ = std::max(next_session_ + 1, first + 1);
  connections_.bind(connection, next_session_);
  if (leading_) {
    leading_->sessions.track(connection.session, connection.timeout, site_.uptime());
  }
  submit({.connection = connection.id,
          .session = connection.session,
          .type = op::create_session,
          .body = Out().int32(connection.timeout).str()});
}

void Peer::revalidate(Connection& connection) {
  if (following_) {
    following_->revalidations[connection.session] = connection.id;
    send(following_->leader, {.kind = Kind::revalidate,
                              .link = following_->link,
                              .number = connection.session,
                              .sessions = {{connection.session, connection.timeout}}});
    return;
  }
  Sessions& sessions = leading_->sessions;
  const bool alive = sessions.touch(connection.session, connection.timeout, site_.uptime());
  if (alive) sessions.set_owner(connection.session, index_);
  connections_.welcome(connection, alive);
}

void Peer::asked(Connection& connection, std::int32_t cxid, std::int32_t type,
                 std::string_view body) {
  if (type == op::auth) {
    authenticate(connection, cxid, body);
    return;
  }
  submit({.connection = connection.id,
          .session = connection.session,
          .cxid = cxid,
          .type = type,
          .body = std::string(body),
          .who = connection.who});
}

void Peer::authenticate(Connection& connection, std::int32_t cxid, std::string_view body) {
  In in(body);
  in.int32();
  const std::string_view scheme = in.text();
  const std::string_view proof = in.text();
  if (scheme != "digest") {
    connections_.reply(connection.id, cxid, 0, code::auth_failed, {});
    connections_.hang_up(connection);
    return;
  }
  std::vector<Identity> all;
  if (connection.who) all = *connection.who;
  Identity one{.scheme = "digest", .id = digest_of(proof)};
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
  connection.who = std::make_shared<const std::vector<Identity>>(std::move(all));
  connections_.reply(connection.id, cxid, 0, code::ok, {});
}

bool Peer::throttles(const Request& request) {
  if (throttled_one_in_ == 0 || request.type == op::ping || request.type == op::create_session ||
      request.type == op::close_session) {
    return false;
  }
  return site_.random() % throttled_one_in_ == 0;
}

void Peer::submit(Request request) {
  Connection* const connection = connections_.find(*request.connection);
  if (connection == nullptr || !serving_) return;
  request.owner = index_;
  if (leading_) {
    // Whoever asks for a session that ends gets no answer; the connection is closed soon.
    if (!leading_->sessions.touch(request.session, connection->timeout, site_.uptime())) return;
  } else {
    following_->touched[request.session] = connection->timeout;
  }
  if (!known(request.type) && request.type != op::create_session) {
    connections_.reply(connection->id, request.cxid, 0, code::unimplemented, {});
    connections_.hang_up(*connection);
    return;
  }
  request.throttled = throttles(request);
  if (leading_) {
    const TxnPtr txn = prepare(request);
    enqueue(std::move(request));
    if (txn) propose(txn);
    return;
  }
  // It is queued before it is forwarded, so that its answer finds it.
  const bool away = !request.throttled && awaits_commit(request);
  const Request copy = away ? request : Request{};
  enqueue(std::move(request));
  if (away) forward(copy);
}

}  // namespace simulation::zookeeper
