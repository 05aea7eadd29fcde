// SPDX-License-Identifier: MIT
// What a program does that takes a lock of several Redis servers by hand: all are asked at once,
// and it goes on at the answer that makes the majority. It sends the library's own commands, and
// does nothing else that the library does: no undoing, no renewal, no second try.
#pragma once

#include <mortise/operation.hpp>

#include "raw_redis.hpp"
#include "redlock/requests.hpp"

#include <hiredis/hiredis.h>

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::bench {

class RawRedlock {
 public:
  RawRedlock(const std::vector<std::uint16_t>& ports, const std::string& name);
  /// Takes the lock and frees it. @throws std::runtime_error where it is not granted
  void cycle();

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const noexcept { ::redisReaderFree(reader); }
  };
  /// Replies come in the order of commands; those that nobody waited for come later.
  struct Node {
    explicit Node(std::uint16_t port) : redis(port), reader(::redisReaderCreate()) {}
    RawRedis redis;
    std::unique_ptr<redisReader, FreeReader> reader;
    std::uint64_t answered = 0;
  };

  void ask_all(std::string_view expected);
  void send_all();
  /// @return how many of its replies were the awaited one
  std::size_t read(Node& node, std::string_view expected) const;

  std::vector<Node> nodes_;
  std::vector<pollfd> polled_;
  const redlock::Requests requests_{"mortise:"};
  Acquisition::Request request_;
  std::string bytes_;
  std::uint64_t asked_ = 0;  // commands that each node was sent
  std::uint64_t number_ = 0;
};

}  // namespace mortise::bench
