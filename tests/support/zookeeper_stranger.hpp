// SPDX-License-Identifier: MIT
// A process of another lock library that speaks to the same ZooKeeper: Apache Curator on Java, or
// kazoo on Python. It does what it is told, over a unix socket, one line an order.
#pragma once

#include "model/process.hpp"
#include "model/temporary.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace mortise::test {

enum class ZooKeeperLibrary { curator, kazoo };

[[nodiscard]] std::string_view name_of(ZooKeeperLibrary library) noexcept;
/// @return what is not on this machine that it needs; empty: it is all there.
[[nodiscard]] std::string missing(ZooKeeperLibrary library);

/// Starts with the object, ends with it. Not thread-safe, and bound to its thread as each process.
class ZooKeeperStranger {
 public:
  /// @param servers "127.0.0.1:2181,..."
  /// @param path of the lock: what its nodes are made below
  /// @param kind "mutex"; "read" or "write"; of Curator, how many permits a semaphore has
  /// @param patterns what kazoo is told of the names of others' nodes, by commas
  ZooKeeperStranger(ZooKeeperLibrary library, const std::string& servers, const std::string& path,
                    const std::string& kind = "mutex", const std::string& patterns = "-lock-");
  ZooKeeperStranger(ZooKeeperStranger&& other) noexcept;
  ZooKeeperStranger& operator=(ZooKeeperStranger&&) = delete;
  ~ZooKeeperStranger();

  void send(const std::string& order) const;
  /// @return its answer to the oldest order; empty where none came in time.
  [[nodiscard]] std::string answer(std::chrono::milliseconds within = std::chrono::seconds(60));
  /// Both: "take", "try MILLISECONDS", "free", "cycle TIMES FILE".
  [[nodiscard]] std::string ask(const std::string& order);
  void kill() { process_.kill(); }

 private:
  int fd_ = -1;
  std::string received_;
  model::Process process_;
};

}  // namespace mortise::test
