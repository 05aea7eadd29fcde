// SPDX-License-Identifier: MIT
// What processes ask ZooKeeper's servers for, request by request as it arrives, before the server
// sees it: of those that somebody listens to.
#pragma once

#include "simulation/server.hpp"
#include "simulation/world/room.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace simulation {

class ZooKeeperWire {
 public:
  /// @param type one of `zookeeper::op`
  /// @param body what is behind it; of most it begins with a path
  using Ear = std::function<void(Connection& from, std::int32_t type, std::string_view body)>;

  explicit ZooKeeperWire(Network& network) : network_(network) {}
  /// Tells of whatever that process asks from now on.
  void listen(const Process& process, Ear ear) { all_[&process].ear = std::move(ear); }
  /// A server is sent something.
  void sent(ConnectionId connection, std::string_view bytes);

 private:
  struct Listened {
    Ear ear{};
    ConnectionId connection{};  // the last one, and what of a request has come on it
    std::string unread{};
  };

  Network& network_;
  std::map<const Process*, Listened> all_;
};

/// Stands before a server, and has it known what that is sent.
class ZooKeeperDoor final : public Server {
 public:
  ZooKeeperDoor(Server& server, ZooKeeperWire& wire) : server_(server), wire_(wire) {}
  void opened(ConnectionId connection) override { server_.opened(connection); }
  void received(ConnectionId connection, std::string_view bytes) override {
    wire_.sent(connection, bytes);
    server_.received(connection, bytes);
  }
  void closed(ConnectionId connection) override { server_.closed(connection); }
  void restarted(bool keeps_data) override { server_.restarted(keeps_data); }

 private:
  Server& server_;
  ZooKeeperWire& wire_;
};

}  // namespace simulation
