// SPDX-License-Identifier: MIT
// The clients of one server: their bytes, cut into requests, and replies and events for them.
#pragma once

#include "simulation/server.hpp"
#include "simulation/zookeeper/request.hpp"
#include "simulation/zookeeper/tree.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace simulation::zookeeper {

struct Connection {
  ConnectionId id = 0;
  std::int64_t session = 0;
  std::int32_t timeout = 0;  ///< negotiated, in milliseconds
  Identities who{};

  enum class State : std::uint8_t { fresh, greeting, open, closing };
  State state = State::fresh;
  std::string in{};
  std::string out{};
};

/// What a client says first.
struct Greeting {
  std::int64_t seen = 0;     ///< the last zxid that it knows of
  std::int32_t timeout = 0;  ///< milliseconds
  std::int64_t session = 0;  ///< 0: a new one
  std::string_view password{};
};

/// @return what proves that a session is one's own; the same on every server.
[[nodiscard]] std::string password_of(std::int64_t session);

class Connections final : public Tree::Audience {
 public:
  class User {
   public:
    virtual ~User() = default;
    virtual void greeted(Connection& connection, const Greeting& greeting) = 0;
    virtual void asked(Connection& connection, std::int32_t cxid, std::int32_t type,
                       std::string_view body) = 0;
  };

  Connections(Site& site, Watches& watches, User& user)
      : site_(site), watches_(watches), user_(user) {}

  void open(ConnectionId id);
  void receive(ConnectionId id, std::string_view bytes);
  /// It has gone.
  void forget(ConnectionId id);
  /// All have gone.
  void clear();
  void hang_up_all();

  [[nodiscard]] Connection* find(ConnectionId id);
  [[nodiscard]] Connection* of_session(std::int64_t session);
  void bind(Connection& connection, std::int64_t session);
  /// Answers the greeting; no: the session has expired.
  void welcome(Connection& connection, bool yes);
  void reply(ConnectionId id, std::int32_t cxid, std::int64_t zxid, std::int32_t code,
             std::string_view body);
  void tell(ConnectionId who, std::int32_t event, std::string_view path, const Acls& acl) override;
  /// Behind all that was said.
  void hang_up(Connection& connection);
  /// Sends what was said, and goes on with requests that had to wait for the greeting's answer.
  void flush();
  [[nodiscard]] std::size_t count() const noexcept { return connections_.size(); }
  /// @return the connection of a session's client; nothing: it is not here.
  [[nodiscard]] std::optional<ConnectionId> id_of(std::int64_t session) const {
    const auto found = by_session_.find(session);
    return found == by_session_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  void read(Connection& connection);
  void read_frame(Connection& connection, std::string_view frame);
  void say(Connection& connection, std::string_view frame);

  Site& site_;
  Watches& watches_;
  User& user_;
  std::map<ConnectionId, Connection> connections_;
  std::unordered_map<std::int64_t, ConnectionId> by_session_;
  std::vector<ConnectionId> spoken_;    // have something to be sent
  std::vector<ConnectionId> welcomed_;  // may have requests to be read
};

}  // namespace simulation::zookeeper
