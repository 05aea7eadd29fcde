// SPDX-License-Identifier: MIT
#include "simulation/scene/judge.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace simulation {
namespace {

std::string seconds(Nanos time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6f s", static_cast<double>(time.count()) / 1e9);
  return text.data();
}

}  // namespace

std::string Judge::words(const Hold& hold) const {
  return hold.process->name() + " (token " + std::to_string(hold.token.value()) + ", granted at " +
         seconds(hold.granted_at) + ")";
}

void Judge::blame(std::string promise, std::string words) {
  room_.world.note("judge", promise + " is broken: " + words);
  if (room_.world.tells && (promise == "L7" || promise == "S6")) {
    for (const std::string& line : room_.world.threads_in_words()) room_.world.note("world", line);
  }
  if (!verdict_) verdict_ = Verdict{std::move(promise), std::move(words)};
  room_.world.stop();
}

bool Judge::believes(const Hold& hold) {
  if (hold.process->dead()) return false;  // it can do no harm any more
  const World::Outside outside;
  return room_.as(*hold.process, [&] { return hold.valid(); });
}

void Judge::look_for_rivals(std::size_t name, HoldNumber number) {
  if (!exclusion_) return;
  auto& holds = names_[name].holds;
  const Hold& hold = holds.at(number);
  if (!believes(hold)) return;  // stopped between the grant and now, perhaps
  for (const auto& [other, rival] : holds) {
    if (other == number || !believes(rival)) continue;
    blame("S1", "two owners of name " + std::to_string(name) + " at " + seconds(room_.world.now()) +
                    ": " + words(rival) + " and " + words(hold));
    return;
  }
}

Judge::HoldNumber Judge::granted(std::size_t name, Hold hold) {
  Name& all = names_[name];
  const Nanos now = room_.world.now();
  const HoldNumber number = ++grants_;
  hold.granted_at = now;
  if (hold.token && hold.token <= all.largest && believes(hold)) {
    blame("S2", "the token of name " + std::to_string(name) + " did not grow: " + words(hold) +
                    " after " + std::to_string(all.largest.value()));
  }
  all.largest = std::max(all.largest, hold.token);
  std::erase_if(all.holds, [](const auto& each) { return each.second.process->dead(); });
  all.holds.emplace(number, hold);
  look_for_rivals(name, number);
  // A hold whose owner has not looked since it ended says nothing of how long the name was free.
  const bool unclear = std::any_of(all.holds.begin(), all.holds.end(), [&](const auto& each) {
    return each.first != number && !each.second.ended;
  });
  const Nanos wanted =
      all.waiters.empty() ? hold.asked_at : std::min(hold.asked_at, all.wanted_since);
  const Nanos idle = now - std::max({all.free_since, wanted, serve_from_});
  if (!unclear && serve_from_ != never && idle > (all.released ? hand_over_ : fallback_)) {
    blame("L2", "name " + std::to_string(name) + " was free and wanted for " + seconds(idle));
  }
  return number;
}

bool Judge::still_holds(std::size_t name, HoldNumber number) {
  Hold& hold = names_[name].holds.at(number);
  const bool valid = believes(hold);
  if (valid && hold.ended) blame("S6", "a hold that was over is valid again: " + words(hold));
  if (valid) {
    look_for_rivals(name, number);
  } else if (!std::exchange(hold.ended, true)) {
    names_[name].free_since = room_.world.now();
    names_[name].released = false;
  }
  return valid;
}

void Judge::releasing(std::size_t name, HoldNumber number) {
  Name& all = names_[name];
  const bool valid = still_holds(name, number);
  all.holds.erase(number);
  all.free_since = room_.world.now();
  all.released = valid;
}

void Judge::waits(std::size_t name, const Process& who, bool begins) {
  Name& all = names_[name];
  std::erase_if(all.waiters, [](const Process* waiter) { return waiter->dead(); });
  if (all.waiters.empty()) all.wanted_since = room_.world.now();
  if (begins) {
    all.waiters.push_back(&who);
  } else if (const auto it = std::find(all.waiters.begin(), all.waiters.end(), &who);
             it != all.waiters.end()) {
    all.waiters.erase(it);
  }
}

}  // namespace simulation
