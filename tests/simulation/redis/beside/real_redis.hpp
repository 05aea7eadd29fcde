// SPDX-License-Identifier: MIT
// A real redis-server whose wall clock the test moves, and raw connections to it: bytes out, the
// bytes of whole answers in. For comparisons with the model only.
#pragma once

#include "model/temporary.hpp"
#include "support/redis_server.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace simulation::redis {

/// @return the size of the answer that begins there; nothing where it is not whole
[[nodiscard]] std::optional<std::size_t> answer_size(std::string_view bytes);

class RealRedis {
 public:
  /// @param now what its wall clock begins with
  explicit RealRedis(std::chrono::nanoseconds now);
  ~RealRedis();
  RealRedis(const RealRedis&) = delete;
  RealRedis& operator=(const RealRedis&) = delete;

  /// To whole microseconds, as the server reads it.
  void set_wall(std::chrono::nanoseconds now);
  /// Opens the connection if need be.
  void send(int connection, std::string_view bytes);
  /// @return the bytes of the next answer of that connection
  /// @throws std::runtime_error where none comes in time, or the connection has ended
  [[nodiscard]] std::string answer(int connection);

 private:
  struct Line {
    int fd;
    std::string pending;
  };

  Line& line(int connection);

  mortise::model::TemporaryDirectory directory_;
  std::atomic<std::int64_t>* clock_;  // in a file that the server has mapped too
  std::unique_ptr<mortise::test::RedisServer> server_;
  std::map<int, Line> lines_;
};

}  // namespace simulation::redis
