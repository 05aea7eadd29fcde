// SPDX-License-Identifier: MIT
// Administrators who take locks by force with the library's own call, and lose the answer to that;
// and a judge of what each of them has removed.
#pragma once

#include "simulation/scene/judge.hpp"
#include "simulation/scene/zookeeper_wire.hpp"
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
  ZooKeeperAdministrators(Room& room, ZooKeeperWire& wire) : room_(room), wire_(wire) {}

  /// One of them takes one of the names; or two at once. @return in words, for the trace
  std::string take(const std::string& url, std::size_t names, Random& random);
  /// @return whether a reader has made that node.
  [[nodiscard]] static bool is_readers(std::string_view node);
  /// Told of the path of a node that one of them is about to remove.
  std::function<void(const std::string& path)> removes;
  /// What is there when they do.
  const zookeeper::Ensemble* ensemble = nullptr;
  /// Whom it tells.
  Judge* judge = nullptr;

 private:
  /// For the whole call, with a connection that is made anew.
  static constexpr std::chrono::seconds patience{3};
  /// In which a removal is carried out, as a rule, and the next one has its turn.
  static constexpr Nanos shortest_loss = 1ms;
  static constexpr Nanos longest_loss = 200ms;

  /// One call.
  struct OneShot {
    double loses = 0;              // how often the answer is lost
    std::string removed{};         // first
    std::set<std::string> ends{};  // who had it then
    std::set<std::string> told{};  // of which the judge knows
  };
  void begin(const std::string& url, const std::string& name, double loses);
  void asked(OneShot& one_shot, std::string_view path, Connection& from);
  [[nodiscard]] std::set<std::string> holders_with(const std::string& queue) const;
  void look_at_removal(OneShot& one_shot, const std::string& path) const;
  void look_at_rest(const std::set<std::string>& held) const;
  void lose_answer(Connection& connection);

  Room& room_;
  ZooKeeperWire& wire_;
  Random luck_;
  std::map<const Process*, OneShot> one_shots_;
};

}  // namespace simulation
