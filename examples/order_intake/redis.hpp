// SPDX-License-Identifier: MIT
// The shop's own connection to its Redis, with hiredis.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <string>
#include <vector>

namespace shop {

class Redis {
 public:
  /// @param where "host:port", or the path of a socket
  /// @throws std::runtime_error
  explicit Redis(const std::string& where);
  /// Sends a command, and waits for its reply.
  /// @return the texts and numbers of the reply; empty if the reply is nil
  /// @throws std::runtime_error
  std::vector<std::string> ask(const std::vector<std::string>& words);

 private:
  std::unique_ptr<redisContext, decltype(&::redisFree)> context_;
};

}  // namespace shop
