// SPDX-License-Identifier: MIT
// What the judge knows of holds that somebody else has ended.
#include "core/figures.hpp"
#include "simulation/scene/judge.hpp"

#include <algorithm>

namespace simulation {

void Judge::taken(std::size_t name, std::uint64_t grant, bool shared, Nanos bound) {
  Name& all = names_[name];
  const Nanos by = bound == never ? never : room_.world.now() + bound;
  all.taken.insert_or_assign({grant, shared}, by);
  for (auto& [number, hold] : all.holds) {
    if (grant_of(hold) != grant || hold.shared != shared) continue;
    hold.taken = true;
    if (by != never) expect_the_end(name, number, by);
  }
}

void Judge::expect_the_end(std::size_t name, HoldNumber number, Nanos by) {
  const Process& process = *names_[name].holds.at(number).process;
  room_.world.at(by, [this, name, number, &process, stolen = room_.world.stolen(process)] {
    const auto found = names_[name].holds.find(number);
    if (found == names_[name].holds.end() || process.dead() || !believes(found->second)) return;
    if (room_.world.stolen(process) != stolen) return;
    blame("taken",
          "a hold that was taken by force is believed long after: " + words(found->second));
  });
}

bool Judge::was_taken(std::size_t name, mortise::Token token) const {
  const auto all = names_.find(name);
  const std::uint64_t grant = token.value() / mortise::core::tokens_in_a_grant;
  return all != names_.end() &&
         (all->second.taken.contains({grant, false}) || all->second.taken.contains({grant, true}));
}

bool Judge::was_taken(std::size_t name, HoldNumber number) {
  return names_[name].holds.at(number).taken;
}

// Said again, the earlier end counts.
void Judge::forced(std::size_t name, std::uint64_t number, Nanos until) {
  const auto [found, fresh] = names_[name].forced.emplace(number, until);
  if (!fresh) found->second = std::min(found->second, until);
}

void Judge::granted_in_vain(std::size_t name, std::uint64_t number) {
  std::uint64_t& last = names_[name].in_vain;
  last = std::max(last, number);
}

bool Judge::was_given_on_in_vain(std::size_t name, mortise::Token token) const {
  const auto found = names_.find(name);
  return found != names_.end() &&
         found->second.in_vain > token.value() / mortise::core::tokens_in_a_grant;
}

// A stranger's grant has no number. The server that granted it had the clock that it had when the
// request left: a restart ends the connections. The reply may be read after the clock has changed.
bool Judge::excused(std::size_t name, const Hold& hold) const {
  return hold.token ? excused(name, hold.token) : hold.sent_at < excused_before_;
}

bool Judge::excused(std::size_t name, mortise::Token token) const {
  const std::uint64_t number = token.value() / mortise::core::tokens_in_a_grant;
  if (number == 0) return false;
  const auto found = names_.find(name);
  return number < excused_below_ ||
         (found != names_.end() && found->second.forced.contains(number));
}

bool Judge::outlives_its_end(std::size_t name, const Hold& hold) {
  const auto& forced = names_[name].forced;
  const auto found = forced.find(grant_of(hold));
  return found != forced.end() && room_.world.now() > found->second;
}

}  // namespace simulation
