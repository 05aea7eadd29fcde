// SPDX-License-Identifier: MIT
// One request for a lock, a permit or a key, as a server ran it, and its answer.
#pragma once

#include "simulation/redis/redis_server.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace simulation {

/// Of acquire.lua, begin.lua, or for the successor of a release.
struct RedisRequest {
  std::string_view key;
  std::string_view attempt;
  std::string_view deadline;  ///< us of the server's clock
  char wants = 'w';           ///< see acquire.lua; of a key what it is, '!'
  bool waits = false;
  std::string_view answer;

  [[nodiscard]] bool granted() const { return answer.starts_with("granted "); }
  [[nodiscard]] bool queued() const { return answer.starts_with("queued "); }
  [[nodiscard]] bool of_key() const { return wants == '!'; }

  /// @return nothing = the script takes nothing
  [[nodiscard]] static std::optional<RedisRequest> in(const redis::ScriptRun& run) {
    const auto& words = run.arguments;
    RedisRequest request;
    if (run.keys.empty()) return std::nullopt;
    request.key = run.keys[0];
    std::size_t from = 0;
    if (run.script == "redis/once/begin" && words.size() == 10) {
      request.wants = '!';
      request.waits = words[7].starts_with("wait");
    } else if (run.script == "redis/acquire" ||
               (run.script == "redis/release" && words.size() > 4)) {
      from = run.script == "redis/release" ? 4 : 0;
      if (words.size() < from + 6 || words[from + 5].empty()) return std::nullopt;
      request.wants = words[from + 5][0];
      request.waits = words[from + 5].find(" wait") != std::string_view::npos;
    } else {
      return std::nullopt;
    }
    request.attempt = words[from];
    request.deadline = words[from + 1];
    request.answer = run.answer;
    // Behind the outcome and the time.
    for (int i = 0; from != 0 && i < 2; ++i) {
      request.answer.remove_prefix(std::min(request.answer.find(' '), request.answer.size() - 1) +
                                   1);
    }
    return request;
  }
};

}  // namespace simulation
