// SPDX-License-Identifier: MIT
// What users call: include/mortise/zookeeper.hpp.
#include <mortise/zookeeper.hpp>

#include "zookeeper/zookeeper_backend.hpp"

namespace mortise::zookeeper {

std::unique_ptr<Backend> backend(std::string_view url) {
  return std::make_unique<ZooKeeperBackend>(Settings::parse(url));
}

}  // namespace mortise::zookeeper
