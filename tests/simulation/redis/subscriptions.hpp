// SPDX-License-Identifier: MIT
// Who listens to which channel, in the order in which they came: that of the deliveries.
#pragma once

#include "simulation/server.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::redis {

class Subscriptions {
 public:
  /// @return whether it did not listen there already
  bool add(ConnectionId connection, std::string_view channel);
  /// @return whether it listened there
  bool remove(ConnectionId connection, std::string_view channel);
  /// @return the channels of a connection, in the order in which they were added
  [[nodiscard]] const std::vector<std::string>& of(ConnectionId connection) const;
  /// @return who listens to a channel
  [[nodiscard]] const std::vector<ConnectionId>& listeners(std::string_view channel) const;
  [[nodiscard]] std::size_t channels() const noexcept { return listeners_.size(); }
  void remove_all(ConnectionId connection);
  void clear();

 private:
  std::map<std::string, std::vector<ConnectionId>, std::less<>> listeners_;
  std::map<ConnectionId, std::vector<std::string>> channels_;
};

}  // namespace simulation::redis
