// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_copies.hpp"

#include "simulation/redis/numbers.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;

/// A round takes a second at most. Its last request is void a second later, by a clock that was
/// read a second too late.
constexpr Nanos longest_delay = 3200ms;

/// Of a request for a vote, of an attempt or for a hold.
constexpr std::size_t arguments_of_a_take = 7;

}  // namespace

std::string RedlockCopies::look(std::size_t server, const redis::ScriptRun& run) {
  const auto& words = run.arguments;
  if (run.keys.size() != 1 || words.size() < 3 || words[0].empty()) return {};
  const Attempt attempt = std::string(run.keys[0]).append(" ").append(words[0]);
  const std::pair vote(server, attempt);
  if (words.size() < arguments_of_a_take) {
    if (!run.answer.starts_with("freed ")) return {};
    const auto step = static_cast<std::uint64_t>(redis::parse_integer(words[2]).value_or(0));
    const auto found = votes_.find(vote);
    if (found == votes_.end()) return {};
    if (step < found->second) {
      return "S5: " + attempt + " loses a vote of step " + std::to_string(found->second) +
             " by a request of step " + std::to_string(step);
    }
    votes_.erase(found);
    return {};
  }
  const auto step = static_cast<std::uint64_t>(redis::parse_integer(words[1]).value_or(0));
  const bool voted = run.answer.starts_with("vote ");
  if (voted) votes_[vote] = step;
  if (words[6] == "hold") return {};  // one step for all of its requests
  const Nanos now = room_.world.now();
  const Nanos first = asked_.try_emplace({attempt, step}, now).first->second;
  if (!voted || steps_ || now - first <= longest_delay) return {};
  return "S5: " + attempt + " gets a vote for step " + std::to_string(step) + ", " +
         std::to_string((now - first).count()) + " ns after that was asked for";
}

}  // namespace simulation
