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

std::string RedisCopies::look(const redis::ScriptRun& run) {
  // What is asked for an attempt: "<attempt> ...", flags, epoch.
  const auto& words = run.arguments;
  if (run.keys.empty() || words.size() < 3 || words[0].empty() || words[1].size() < 2) return {};
  const auto epoch = static_cast<std::uint64_t>(redis::parse_integer(words[2]).value_or(0));
  const std::uint64_t first = epochs_.try_emplace(run.connection, epoch).first->second;
  const std::string attempt(words[0].substr(0, words[0].find(' ')));
  if (first != epoch) {
    return "S5: connection " + std::to_string(first) + " of its client carries a request of " +
           attempt + " with the number " + std::to_string(epoch);
  }
  const Nanos now = room_.world.now();
  Buried& buried = buried_[std::string(run.keys[0]) + " " + attempt];
  const bool takes = words.size() >= 5 && words[0].find(' ') == std::string_view::npos;
  if (takes && epoch < buried.epoch && now - buried.at < remembered &&
      run.answer.starts_with("G ")) {
    return "S5: " + attempt + " is granted by a copy of connection " + std::to_string(epoch) +
           ", after one of connection " + std::to_string(buried.epoch);
  }
  if (words[1][1] == '1' && epoch >= buried.epoch) buried = {epoch, now};
  return {};
}

}  // namespace simulation
