// SPDX-License-Identifier: MIT
// Administrators who take locks by force with the library's own call, and lose the answer to that;
// and a judge of what each of them has removed.
#pragma once

#include "simulation/scene/judge.hpp"
#include "simulation/server.hpp"
#include "simulation/world/room.hpp"
#include "simulation/zookeeper/ensemble.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace simulation {

class ZooKeeperAdministrators {
 public:
  explicit ZooKeeperAdministrators(Room& room) : room_(room) {}

  /// One of them takes one of the names; or two at once. @return in words, for the trace
  std::string take(const std::string& url, std::size_t names, Random& random);
  /// A server is sent something.
  void sent(ConnectionId connection, std::string_view bytes);
  /// @return whether a reader has made that node.
  [[nodiscard]] static bool is_readers(std::string_view node);
  /// Told of the path of a node that one of them is about to remove.
  std::function<void(const std::string& path)> removes;
  /// What is there when they do.
  const zookeeper::Ensemble* ensemble = nullptr;
  /// Whom it tells.
  Judge* judge = nullptr;

 private:
  /// One call.
  struct OneShot {
    double loses = 0;              // how often the answer is lost
    std::string removed{};         // first
    std::set<std::string> ends{};  // who had it then
    std::set<std::string> told{};  // of which the judge knows
    ConnectionId connection{};     // the last one, and what of a request has come on it
    std::string unread{};
  };
  void begin(const std::string& url, const std::string& name, double loses);
  void asked(OneShot& one_shot, std::string_view bytes, Connection& from);
  [[nodiscard]] std::set<std::string> holders_with(const std::string& queue) const;
  void look_at_removal(OneShot& one_shot, const std::string& path) const;
  void look_at_rest(const std::set<std::string>& held) const;
  void lose_answer(Connection& connection);

  Room& room_;
  Random luck_;
  std::map<const Process*, OneShot> one_shots_;
};

/// Stands before a server, and has them know what it is sent.
class ZooKeeperDoor final : public Server {
 public:
  ZooKeeperDoor(Server& server, ZooKeeperAdministrators& administrators)
      : server_(server), administrators_(administrators) {}
  void opened(ConnectionId connection) override { server_.opened(connection); }
  void received(ConnectionId connection, std::string_view bytes) override {
    administrators_.sent(connection, bytes);
    server_.received(connection, bytes);
  }
  void closed(ConnectionId connection) override { server_.closed(connection); }
  void restarted(bool keeps_data) override { server_.restarted(keeps_data); }

 private:
  Server& server_;
  ZooKeeperAdministrators& administrators_;
};

}  // namespace simulation
