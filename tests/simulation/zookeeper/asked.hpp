// SPDX-License-Identifier: MIT
// What a request asks to change, read off the wire.
#pragma once

#include "simulation/zookeeper/jute.hpp"
#include "simulation/zookeeper/node.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace simulation::zookeeper {

struct Asked {
  std::int32_t type = 0;
  std::string path{};
  std::optional<std::string> data{};
  std::vector<Acl> acl{};
  std::int32_t flags = 0;    ///< of a create
  std::int32_t version = 0;  ///< of all others
  bool unfit = false;  ///< a step of a multi at which the server fails: a plain create of a node
                       ///< with a time to live

  /// @throws Malformed, also where no change is asked for
  static Asked read(std::int32_t type, In& in);
  /// @return the steps of a multi. @throws Malformed
  static std::vector<Asked> read_multi(In& in);
};

}  // namespace simulation::zookeeper
