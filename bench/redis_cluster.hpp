// SPDX-License-Identifier: MIT
// A private Redis Cluster for one measurement: three masters without replicas, placed as the
// server's side.
#pragma once

#include "redis_server.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace mortise::bench {

inline constexpr std::size_t masters = 3;

class RedisCluster {
 public:
  /// Returns when it takes requests. @throws std::runtime_error where it does not
  explicit RedisCluster(Mode mode);
  /// @return redis+cluster://127.0.0.1:PORT,... of all of them.
  [[nodiscard]] std::string url() const;

 private:
  void join();

  std::array<std::unique_ptr<RedisServer>, masters> servers_;
};

}  // namespace mortise::bench
