// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/connections.hpp"

#include "simulation/zookeeper/numbers.hpp"
#include "simulation/zookeeper/rights.hpp"

#include <utility>

namespace simulation::zookeeper {
namespace {

constexpr std::int32_t largest_request = 0xfffff;  // jute.maxbuffer
constexpr std::size_t head = 4;
constexpr std::size_t password_size = 16;

}  // namespace

std::string password_of(std::int64_t session) {
  std::string out;
  auto state = static_cast<std::uint64_t>(session);
  while (out.size() < password_size) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    out.push_back(static_cast<char>(state >> 56U));
  }
  return out;
}

void Connections::open(ConnectionId id) { connections_[id].id = id; }

void Connections::receive(ConnectionId id, std::string_view bytes) {
  Connection* const connection = find(id);
  if (connection == nullptr) return;
  connection->in.append(bytes);
  read(*connection);
}

void Connections::read(Connection& connection) {
  std::size_t at = 0;
  using State = Connection::State;
  while (connection.state == State::fresh || connection.state == State::open) {
    const std::string_view rest = std::string_view(connection.in).substr(at);
    if (rest.size() < head) break;
    const std::int32_t size = In(rest).int32();
    if (size < 0 || size > largest_request) {
      hang_up(connection);
      break;
    }
    const std::size_t whole = head + static_cast<std::size_t>(size);
    if (rest.size() < whole) break;
    at += whole;
    try {
      read_frame(connection, rest.substr(head, whole - head));
    } catch (const Malformed&) {
      hang_up(connection);
    }
  }
  connection.in.erase(0, at);
}

void Connections::read_frame(Connection& connection, std::string_view frame) {
  In in(frame);
  if (connection.state == Connection::State::open) {
    const std::int32_t cxid = in.int32();
    const std::int32_t type = in.int32();
    user_.asked(connection, cxid, type, in.rest());
    return;
  }
  connection.state = Connection::State::greeting;
  Greeting greeting;
  in.int32();
  greeting.seen = in.int64();
  greeting.timeout = in.int32();
  greeting.session = in.int64();
  greeting.password = in.text();
  user_.greeted(connection, greeting);
}

void Connections::forget(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  watches_.data.forget(id);
  watches_.children.forget(id);
  const auto bound = by_session_.find(found->second.session);
  if (bound != by_session_.end() && bound->second == id) by_session_.erase(bound);
  connections_.erase(found);
}

void Connections::clear() {
  connections_.clear();
  by_session_.clear();
  spoken_.clear();
  welcomed_.clear();
  watches_.data.clear();
  watches_.children.clear();
}

void Connections::hang_up_all() {
  for (auto& [id, connection] : connections_) hang_up(connection);
}

Connection* Connections::find(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.state == Connection::State::closing) {
    return nullptr;
  }
  return &found->second;
}

Connection* Connections::of_session(std::int64_t session) {
  const auto found = by_session_.find(session);
  return found == by_session_.end() ? nullptr : find(found->second);
}

void Connections::bind(Connection& connection, std::int64_t session) {
  connection.session = session;
  by_session_[session] = connection.id;
}

void Connections::welcome(Connection& connection, bool yes) {
  Out out;
  out.int32(0).int32(yes ? connection.timeout : 0).int64(yes ? connection.session : 0);
  out.text(yes ? password_of(connection.session) : std::string(password_size, '\0')).flag(false);
  say(connection, out.str());
  if (!yes) {
    hang_up(connection);
    return;
  }
  connection.state = Connection::State::open;
  welcomed_.push_back(connection.id);
}

void Connections::reply(ConnectionId id, std::int32_t cxid, std::int64_t zxid, std::int32_t code,
                        std::string_view body) {
  Connection* const connection = find(id);
  if (connection == nullptr) return;
  Out out;
  out.int32(cxid).int64(zxid).int32(code);
  if (code == code::ok) out.raw(body);
  say(*connection, out.str());
}

// That those who may not read a node are told nothing is the mend of CVE-2024-23944, which Debian's
// server has.
void Connections::tell(ConnectionId who, std::int32_t event, std::string_view path,
                       const Acls& acl) {
  const Connection* const connection = find(who);
  if (connection == nullptr || !permitted(acl, right::read, connection->who)) return;
  constexpr std::int32_t connected = 3;
  reply(who, xid::watch, -1, code::ok, Out().int32(event).int32(connected).text(path).str());
}

void Connections::say(Connection& connection, std::string_view frame) {
  if (connection.out.empty()) spoken_.push_back(connection.id);
  connection.out.append(Out().text(frame).str());
}

void Connections::hang_up(Connection& connection) {
  if (connection.state == Connection::State::closing) return;
  connection.state = Connection::State::closing;
  if (connection.out.empty()) spoken_.push_back(connection.id);
  watches_.data.forget(connection.id);
  watches_.children.forget(connection.id);
}

void Connections::flush() {
  for (std::size_t i = 0; i < welcomed_.size(); ++i) {
    if (Connection* const connection = find(welcomed_[i])) read(*connection);
  }
  welcomed_.clear();
  for (const ConnectionId id : std::exchange(spoken_, {})) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) continue;
    if (!found->second.out.empty()) site_.send(id, found->second.out);
    found->second.out.clear();
    if (found->second.state != Connection::State::closing) continue;
    forget(id);
    site_.hang_up(id);
  }
}

}  // namespace simulation::zookeeper
