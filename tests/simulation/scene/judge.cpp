// SPDX-License-Identifier: MIT
#include "simulation/scene/judge.hpp"

#include "core/figures.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <thread>
#include <utility>

namespace simulation {
namespace {

/// No end: nobody looks at it.
constexpr std::chrono::hours far{100};
constexpr Nanos a_moment{10'000};
/// What is over is looked at again after this time, and after three times as long each time.
constexpr Nanos after_the_end{20'000};

/// How long it takes a waiter to have its place at the server.
constexpr Nanos to_line_up{50'000'000};

/// In which whoever was given what had been taken by force finds that out.
constexpr std::chrono::seconds a_look{1};

/// What one clock's reading loses in another's.
constexpr std::chrono::milliseconds rounding{1};

std::string seconds(Nanos time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6f s", static_cast<double>(time.count()) / 1e9);
  return text.data();
}

}  // namespace

std::uint64_t Judge::grant_of(const Hold& hold) {
  return hold.token.value() / mortise::core::tokens_in_a_grant;
}

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

Nanos Judge::left_of(const Hold& hold) {
  if (hold.process->dead()) return Nanos(0);  // it can do no harm any more
  const World::Outside outside;
  return room_.as(*hold.process, [&] { return hold.left(); });
}

void Judge::arm(std::size_t name, Nanos when) {
  Name& all = names_[name];
  if (all.armed <= when) return;
  all.armed = when;
  room_.world.at(when, [this, name] { look(name); });
}

// At the very end of each hold, and a while after it: what is over must not come back (S6). What
// happens just there is what protocols are about, and an owner that looks now and then misses it.
void Judge::look(std::size_t name) {
  constexpr int steps = 6;
  Name& all = names_[name];
  const Nanos now = room_.world.now();
  if (now < all.armed) return;
  all.armed = never;
  for (const auto& [number, hold] : all.holds) {
    if (hold.process->dead()) continue;
    if (!hold.ended && hold.process->locks() && !believes(hold)) {
      arm(name, now + a_moment);
    } else if (still_holds(name, number)) {
      const Nanos left = left_of(hold);
      if (left < far) arm(name, now + hold.process->clock.in_world(left));
    } else if (const Nanos past = now - hold.ended_at; past < after_the_end * (1 << (2 * steps))) {
      arm(name, now + std::max(after_the_end, past * 3));
    }
    if (verdict_) return;
  }
}

void Judge::look_for_rivals(std::size_t name, HoldNumber number) {
  if (!exclusion_) return;
  auto& holds = names_[name].holds;
  const Hold& hold = holds.at(number);
  if (!believes(hold)) return;  // stopped between the grant and now, perhaps
  if (excused(name, hold)) return;
  std::uint32_t rivals = 0;
  for (const auto& [other, rival] : holds) {
    if (other == number || hold.taken || rival.taken || !believes(rival)) continue;
    if (hold.shared && rival.shared) continue;
    if (hold.beside == other || rival.beside == number) continue;
    if (excused(name, rival)) continue;
    if ((hold.unseen && !rival.token) || (rival.unseen && !hold.token)) continue;
    if (++rivals <= hold.others) continue;
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
  const auto taken = all.taken.find({grant_of(hold), hold.shared});
  hold.taken = taken != all.taken.end();
  if (hold.token && !hold.taken && !excused(name, hold.token) && !has_grown(all, hold) &&
      believes(hold)) {
    blame("S2", "the token of name " + std::to_string(name) + " did not grow: " + words(hold) +
                    " after " + std::to_string(all.largest.value()));
  }
  const auto heard = all.heard.find(hold.process);
  if (hold.token && heard != all.heard.end() && grant_of(hold) <= heard->second && believes(hold)) {
    blame("S8", "a grant is believed of which its owner had heard that it is over: " + words(hold));
  }
  // Of what a fail-over has lost nobody knows who numbers on.
  const auto forced = all.forced.find(grant_of(hold));
  const bool lost = hold.token && forced != all.forced.end() && forced->second == never;
  if (!lost) all.largest = std::max(all.largest, hold.token);
  if (!lost && !hold.shared && hold.token >= all.largest_written) {
    all.largest_written = hold.token;
    all.writer = hold.process;
  }
  std::erase_if(all.holds, [](const auto& each) { return each.second.process->dead(); });
  all.holds.emplace(number, hold);
  if (taken != all.taken.end() && taken->second != never) {
    expect_the_end(name, number, std::max<Nanos>(taken->second, now + a_look));
  }
  look_for_rivals(name, number);
  look_for_order(name, hold);
  // A hold whose owner has not looked since it ended says nothing of how long the name was free.
  const bool unclear = std::any_of(all.holds.begin(), all.holds.end(), [&](const auto& each) {
    return each.first != number && !each.second.ended;
  });
  const Nanos wanted =
      all.waiters.empty() ? hold.asked_at : std::min(hold.asked_at, all.wanted_since);
  if (const Nanos late = idle(all, wanted); !unclear && late > Nanos(0)) {
    blame("L2", "name " + std::to_string(name) + " was free and wanted for " + seconds(late));
  }
  Hold& mine = all.holds.at(number);
  look_at_end(mine, believes(mine));
  if (const Nanos left = left_of(mine); left < far) {
    arm(name, now + hold.process->clock.in_world(left));
  }
  return number;
}

// S3: where nothing but time ends a hold, what its owner was told of its end is the least.
void Judge::look_at_end(Hold& hold, bool valid) {
  if (!ends_by_time_ || hold.process->dead() || leavers_.contains(hold.process)) return;
  const Nanos now = room_.world.now();
  if (valid) {
    const Nanos left = left_of(hold);
    if (left < far) hold.stands_until = now + hold.process->clock.in_world(left);
  } else if (now + rounding < hold.stands_until) {
    blame("S3", "a hold ends before its time, and nobody has ended it: " + words(hold));
  }
}

void Judge::hears(std::size_t name, const Process& who, std::uint64_t number) {
  Name& all = names_[name];
  std::uint64_t& heard = all.heard[&who];
  heard = std::max(heard, number);
  for (const auto& [each, hold] : all.holds) {
    // A later grant says the same of it.
    if (hold.process != &who || !hold.token || grant_of(hold) > number || !believes(hold)) continue;
    blame("S6", "a hold is believed of which its owner had heard that it is over: " + words(hold));
    return;
  }
}

// @return for how long a free name has been wanted; zero: not longer than it may be.
Nanos Judge::idle(const Name& all, Nanos wanted) const {
  if (serve_from_ == never) return Nanos(0);
  const Nanos idle = room_.world.now() - std::max({all.free_since, wanted, serve_from_});
  return idle > (all.released ? hand_over_() : fallback_ + all.later) ? idle : Nanos(0);
}

void Judge::gave_up(std::size_t name, const Process& who, Nanos asked_at) {
  Name& all = names_[name];
  const bool held = std::any_of(all.holds.begin(), all.holds.end(), [](const auto& each) {
    return !each.second.ended && !each.second.process->dead();
  });
  if (const Nanos late = idle(all, asked_at); !held && late > Nanos(0)) {
    blame("L2", who.name() + " is not given name " + std::to_string(name) +
                    ", which was free for " + seconds(late));
  }
}

bool Judge::believes(const Process& process) {
  for (auto& [number, all] : names_) {
    for (const auto& [each, hold] : all.holds) {
      if (hold.process == &process && believes(hold)) return true;
    }
  }
  return false;
}

// Readers share a token with each other, and with no writer; but, where the store has it so, with
// the one of their own client who went on as a reader. Which of two permits was given first nobody
// has seen.
bool Judge::has_grown(const Name& all, const Hold& hold) const {
  if (hold.others > 0) return true;
  if (reads_on_by_one_token_ && hold.shared && hold.process == all.writer &&
      hold.token == all.largest_written) {
    return true;
  }
  return hold.token > (hold.shared ? all.largest_written : all.largest);
}

// Not where a holder has died, whose lease stands: what ends then was over before.
void Judge::is_free(Name& all, bool released) {
  const Nanos now = room_.world.now();
  const bool held_still = std::any_of(all.holds.begin(), all.holds.end(), [&](const auto& each) {
    const bool with_others = readers_ || each.second.others > 0;
    return with_others && !each.second.ended && !each.second.process->dead();
  });
  if (held_still) return;
  if (all.free_since > now) return;
  all.free_since = now;
  // Beside it another one may have lapsed, which ends at the store a little later, and silently.
  all.released = released && now > all.lapsed + fallback_ + all.later;
}

void Judge::died(const Process& process, Nanos free_by) {
  for (auto& [number, all] : names_) {
    const auto gone =
        std::erase_if(all.holds, [&](const auto& each) { return each.second.process == &process; });
    if (gone == 0) continue;
    all.free_since = free_by;
    all.released = false;
    all.later = Nanos(0);
  }
}

void Judge::ends_by_itself(std::size_t name, Nanos free_by) {
  Name& all = names_[name];
  if (std::any_of(all.holds.begin(), all.holds.end(),
                  [](const auto& each) { return !each.second.ended; })) {
    return;
  }
  all.free_since = std::max(all.free_since, free_by);
  all.released = false;
  all.later = Nanos(0);
}

bool Judge::stands_behind_its_own(const Name& all, const Process& process) {
  return std::any_of(all.holds.begin(), all.holds.end(), [&](const auto& each) {
    return each.second.process == &process && believes(each.second);
  });
}

// L5: whoever came first has the first turn. A client's own callers are served within its turn, and
// the next one has to ask anew; so what counts is since when a client has asked without a break.
void Judge::look_for_order(std::size_t name, const Hold& hold) {
  Name& all = names_[name];
  Standing& mine = all.standings[hold.process];
  const Nanos now = room_.world.now();
  if (ordered_ && serve_from_ != never && now > serve_from_) {
    for (const auto& [process, other] : all.standings) {
      if (process == hold.process || process->dead() || other.waiting == 0) continue;
      // Behind a hold of its own client, which the server has ended early: its clock was set ahead.
      if (stands_behind_its_own(all, *process)) continue;
      const Nanos place = std::max(other.in_line_since, serve_from_) + to_line_up;
      if (mine.since <= place || hold.asked_at <= place) continue;
      blame("L5", hold.process->name() + " came later than " + process->name() + ", and has name " +
                      std::to_string(name) + " before it");
      return;
    }
  }
  mine.in_line_since = now;
}

bool Judge::still_holds(std::size_t name, HoldNumber number) {
  Hold& hold = names_[name].holds.at(number);
  bool valid = believes(hold);
  // A thread that has looked at the clock under a mutex may still move the end: an owner that looks
  // waits for it.
  while (!valid && World::running() != nullptr && hold.process->locks()) {
    std::this_thread::sleep_for(std::chrono::microseconds(10));
    valid = believes(hold);
  }
  if (valid && outlives_its_end(name, hold)) {
    blame("S4", "a hold that was taken by force is renewed: " + words(hold));
  }
  if (valid && hold.ended) blame("S6", "a hold that was over is valid again: " + words(hold));
  if (valid) {
    look_at_end(hold, true);
    look_for_rivals(name, number);
  } else if (!std::exchange(hold.ended, true)) {
    look_at_end(hold, false);
    hold.ended_at = room_.world.now();
    names_[name].standings[hold.process].in_line_since = hold.ended_at;
    room_.world.note("judge", "over: " + words(hold));
    is_free(names_[name], false);
    if (hold.shared || hold.others > 0) names_[name].lapsed = hold.ended_at;
    // The owner counts from when it asked, and its thread may have stood still on the way.
    names_[name].later = room_.world.stolen_since(*hold.process, hold.ended_at - lease_);
  }
  return valid;
}

void Judge::releasing(std::size_t name, HoldNumber number) {
  Name& all = names_[name];
  const bool valid = still_holds(name, number);
  all.standings[all.holds.at(number).process].in_line_since = room_.world.now();
  all.holds.erase(number);
  if (!valid) return;  // since it ended the name has been somebody else's, perhaps
  is_free(all, true);
}

std::vector<std::uint64_t> Judge::believed(std::size_t name) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, hold] : names_[name].holds) {
    if (!hold.token || excused(name, hold.token) || !believes(hold)) continue;
    numbers.push_back(grant_of(hold));
  }
  return numbers;
}

bool Judge::knows(std::size_t name, std::uint64_t number) const {
  const auto found = names_.find(name);
  return found != names_.end() &&
         std::any_of(found->second.holds.begin(), found->second.holds.end(),
                     [&](const auto& each) { return grant_of(each.second) == number; });
}

void Judge::waits(std::size_t name, const Process& who, bool begins, bool ever) {
  Name& all = names_[name];
  std::erase_if(all.waiters, [](const Process* waiter) { return waiter->dead(); });
  if (all.waiters.empty()) all.wanted_since = room_.world.now();
  Standing& mine = all.standings[&who];
  // Whoever gives up leaves a place that the next one of the same client has to take again.
  if (!begins || mine.waiting == 0) mine.in_line_since = room_.world.now();
  if (ever) mine.waiting += begins ? 1 : std::size_t(0) - 1;
  if (begins) {
    all.waiters.push_back(&who);
  } else if (const auto it = std::find(all.waiters.begin(), all.waiters.end(), &who);
             it != all.waiters.end()) {
    all.waiters.erase(it);
  }
}

}  // namespace simulation
