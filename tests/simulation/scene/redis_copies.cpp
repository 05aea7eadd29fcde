// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_copies.hpp"

#include "simulation/redis/numbers.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;

// The servers remember it for longer, also where their clocks are set ahead.
constexpr Nanos remembered = 20s;

/// Of "<attempt>", of a quorum's "<attempt> <number>", or of a lock's "<number> <attempt> ".
std::string_view attempt_in(std::string_view words) {
  const std::size_t first = words.find(' ');
  if (first == std::string_view::npos || words.find(' ', first + 1) == std::string_view::npos) {
    return words.substr(0, first);
  }
  words.remove_prefix(first + 1);
  return words.substr(0, words.find(' '));
}

}  // namespace

std::string RedisCopies::check(ConnectionId connection, std::string_view attempt,
                               std::uint64_t number) {
  const std::uint64_t first = epochs_.try_emplace(connection, number).first->second;
  if (first == number) return {};
  return "S5: connection " + std::to_string(first) + " of its client carries a request of " +
         std::string(attempt) + " with the number " + std::to_string(number);
}

std::string RedisCopies::look(const redis::ScriptRun& run) {
  // What is asked for an attempt: itself or its hold, flags, number.
  const auto& words = run.arguments;
  if (run.keys.empty() || words.size() < 3 || words[0].empty() || words[1].size() < 2) return {};
  const auto number = static_cast<std::uint64_t>(redis::parse_integer(words[2]).value_or(0));
  const std::string_view attempt = attempt_in(words[0]);
  const bool takes = words.size() >= 5 && words[0].find(' ') == std::string_view::npos;
  if (std::string wrong = check(run.connection, attempt, number); !wrong.empty()) {
    return wrong;
  }
  const bool refuses = words[1][1] == '1' || words[1][1] == 'S';  // 'S': of a reader
  if (!refuses && tombstones_.empty()) return {};
  const Nanos now = room_.world.now();
  const std::string key = std::string(run.keys[0]).append(" ").append(attempt);
  const auto found = tombstones_.find(key);
  if (found != tombstones_.end() && takes && number < found->second.number &&
      now - found->second.at < remembered && run.answer.starts_with('G')) {
    return "S5: " + std::string(attempt) + " is granted by a copy with the number " +
           std::to_string(number) + ", after one with the number " +
           std::to_string(found->second.number);
  }
  if (refuses && (found == tombstones_.end() || number >= found->second.number)) {
    tombstones_[key] = {number, now};
  }
  return {};
}

}  // namespace simulation
