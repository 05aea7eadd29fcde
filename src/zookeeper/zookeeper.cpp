// SPDX-License-Identifier: MIT
// What users call: include/mortise/zookeeper.hpp.
#include <mortise/zookeeper.hpp>

#include "remote/one_shot.hpp"
#include "zookeeper/zookeeper_backend.hpp"

namespace mortise::zookeeper {

std::unique_ptr<Backend> backend(std::string_view url) {
  return std::make_unique<ZooKeeperBackend>(Settings::parse(url));
}

std::optional<Holder> force_release(std::string_view url, std::string_view name,
                                    std::chrono::milliseconds wait, Token of) {
  ZooKeeperBackend backend(Settings::parse(url));
  return remote::force_release(backend, name, wait, of);
}

}  // namespace mortise::zookeeper
