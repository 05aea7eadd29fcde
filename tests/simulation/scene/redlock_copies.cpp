// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_copies.hpp"

#include "simulation/redis/numbers.hpp"

#include <chrono>

namespace simulation {
namespace {

/// A command may take a second, and the reading of the server's clock may be as old as that.
constexpr Nanos furthest = 2100ms;

/// Of a request for a vote, of an attempt or for a hold.
constexpr std::size_t arguments_of_a_take = 7;

std::uint64_t integer_in(std::string_view text) {
  return static_cast<std::uint64_t>(redis::parse_integer(text).value_or(0));
}

}  // namespace

std::string RedlockCopies::look(const Host& server, const redis::ScriptRun& run) {
  const auto& words = run.arguments;
  if (run.keys.size() != 1 || words.size() < 3 || words[0].empty()) return {};
  const std::string attempt = std::string(run.keys[0]).append(" ").append(words[0]);
  const std::pair vote(&server, attempt);
  if (words.size() < arguments_of_a_take) {
    if (!run.answer.starts_with("released ")) return {};
    const auto found = votes_.find(vote);
    if (found == votes_.end()) return {};
    const std::uint64_t step = integer_in(words[2]);
    if (step < found->second) {
      return "S5: " + attempt + " loses a vote of step " + std::to_string(found->second) +
             " by a request of step " + std::to_string(step);
    }
    votes_.erase(found);
    return {};
  }
  if (run.answer.starts_with("vote ")) votes_[vote] = integer_in(words[1]);
  const Nanos left = std::chrono::microseconds(integer_in(words[2])) - server.wall();
  if (!steps_ && left > furthest) {
    return "S5: a request for " + attempt + " is not void for " + std::to_string(left.count()) +
           " ns, which is more than it may take";
  }
  if (left < -1us && run.answer.starts_with("vote ")) {
    return "S5: " + attempt + " gets a vote by a request that has been void for " +
           std::to_string(-left.count()) + " ns";
  }
  return {};
}

}  // namespace simulation
