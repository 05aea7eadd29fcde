// SPDX-License-Identifier: MIT
// A process of another lock library that speaks to the same ZooKeeper: Apache Curator on Java, or
// kazoo on Python.
#pragma once

#include "support/stranger.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace mortise::test {

enum class ZooKeeperLibrary { curator, kazoo };

[[nodiscard]] std::string_view name_of(ZooKeeperLibrary library) noexcept;
/// @return what is not on this machine that it needs; empty: it is all there.
[[nodiscard]] std::string missing(ZooKeeperLibrary library);

class ZooKeeperStranger : public Stranger {
 public:
  /// @param servers "127.0.0.1:2181,..."
  /// @param path of the lock: what its nodes are made below
  /// @param kind "mutex"; "read" or "write"; of Curator, how many permits a semaphore has
  /// @param patterns what kazoo is told of the names of others' nodes, by commas
  /// @param session how long the servers keep it without a sign of life
  ZooKeeperStranger(ZooKeeperLibrary library, const std::string& servers, const std::string& path,
                    const std::string& kind = "mutex", const std::string& patterns = "-lock-",
                    std::chrono::milliseconds session = std::chrono::seconds(20));
};

}  // namespace mortise::test
