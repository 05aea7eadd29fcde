// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_copies.hpp"

#include "simulation/redis/numbers.hpp"

#include <algorithm>

namespace simulation {
namespace {

using namespace std::chrono_literals;

// The servers remember it for longer, also where their clocks are set ahead.
constexpr Nanos remembered = 20s;

}  // namespace

std::string RedisCopies::check(ConnectionId connection, const std::string& attempt,
                               std::uint64_t number, bool takes) {
  if (by_ == By::connections) {
    const std::uint64_t first = epochs_.try_emplace(connection, number).first->second;
    if (first == number) return {};
    return "S5: connection " + std::to_string(first) + " of its client carries a request of " +
           attempt + " with the number " + std::to_string(number);
  }
  std::uint64_t& latest = steps_[{connection, attempt}];
  if (takes && number < latest) {
    return "S5: " + attempt + " asks in step " + std::to_string(number) + ", behind step " +
           std::to_string(latest);
  }
  latest = std::max(latest, number);
  return {};
}

std::string RedisCopies::look(const redis::ScriptRun& run) {
  // What is asked for an attempt: "<attempt> ...", flags, number.
  const auto& words = run.arguments;
  if (run.keys.empty() || words.size() < 3 || words[0].empty() || words[1].size() < 2) return {};
  const auto number = static_cast<std::uint64_t>(redis::parse_integer(words[2]).value_or(0));
  const std::string attempt(words[0].substr(0, words[0].find(' ')));
  const bool takes = words.size() >= 5 && words[0].find(' ') == std::string_view::npos;
  if (std::string wrong = check(run.connection, attempt, number, takes); !wrong.empty()) {
    return wrong;
  }
  const Nanos now = room_.world.now();
  Tombstone& tombstone = tombstones_[std::string(run.keys[0]) + " " + attempt];
  if (takes && number < tombstone.number && now - tombstone.at < remembered &&
      run.answer.starts_with("G ")) {
    return "S5: " + attempt + " is granted by a copy with the number " + std::to_string(number) +
           ", after one with the number " + std::to_string(tombstone.number);
  }
  if (words[1][1] == '1' && number >= tombstone.number) tombstone = {number, now};
  return {};
}

}  // namespace simulation
