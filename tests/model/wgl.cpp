// SPDX-License-Identifier: MIT
// Each name is searched by itself, and so is its resource: a history of independent objects is
// linearisable if and only if each object's part of it is (Herlihy and Wing).
#include "model/wgl.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace mortise::model {

namespace {

constexpr std::int64_t minus_infinity = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t infinity = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t most_steps = 48;

enum class Kind { grant, grant_of_unknown, end, write };

// What is known of a name between two steps.
struct Standing {
  std::uint64_t holders = 0;          // the grants of those who hold it, as a set of steps
  bool exclusive = false;             // whether there is one, who holds it alone
  std::uint64_t token = 0;            // the largest one
  std::uint64_t exclusive_token = 0;  // the last one of an exclusive hold

  auto operator<=>(const Standing&) const = default;
};

// Something that took place at one instant of [low, high], or, if optional, maybe never did.
struct Step {
  Kind kind;
  std::uint64_t hold;
  std::uint64_t token;
  std::int64_t low;
  std::int64_t high;
  bool optional;
  Shape shape = Shape::exclusive;
};

class Search {
 public:
  explicit Search(std::vector<Step> steps) : steps_(std::move(steps)) {
    if (steps_.size() > most_steps) {
      throw std::length_error("too many steps for an exhaustive search");
    }
  }

  bool run() { return from(0, {}); }

 private:
  bool from(std::uint64_t done, const Standing& now) {
    // A step may come next if it can lie before the end of every window that is still open.
    std::int64_t limit = infinity;
    bool complete = true;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!has(done, i) && !steps_[i].optional) {
        complete = false;
        limit = std::min(limit, steps_[i].high);
      }
    }
    if (complete) {
      return true;
    }
    if (!visited_.insert({done, now}).second) {
      return false;
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!has(done, i) && steps_[i].low <= limit && takes(done, i, now)) {
        return true;
      }
    }
    return false;
  }

  bool takes(std::uint64_t done, std::size_t i, const Standing& now) {
    const Step& step = steps_[i];
    Standing then = now;
    if (step.kind == Kind::end) {
      then.holders &= ~(std::uint64_t{1} << grant_of(step.hold));
      then.exclusive = false;
      if (then.holders == now.holders) return false;
    } else if (step.kind == Kind::write) {
      if (step.token < now.token) return false;
      then.token = step.token;
    } else {
      const bool shared = step.shape == Shape::shared;
      if (now.exclusive || (!shared && now.holders != 0)) return false;
      then.holders |= std::uint64_t{1} << i;
      then.exclusive = !shared;
      // An unknown token, the smallest that is allowed, leaves most to the others.
      if (step.kind == Kind::grant) {
        if (shared ? step.token < now.exclusive_token : step.token <= now.token) return false;
        then.token = std::max(now.token, step.token);
        if (!shared) then.exclusive_token = step.token;
      }
    }
    return from(done | std::uint64_t{1} << i, then);
  }

  // Its grant, as a step.
  std::size_t grant_of(std::uint64_t hold) const {
    std::size_t i = 0;
    while (steps_[i].hold != hold || steps_[i].kind == Kind::end) ++i;
    return i;
  }

  static bool has(std::uint64_t set, std::size_t i) { return (set >> i & 1) != 0; }

  std::vector<Step> steps_;
  std::set<std::pair<std::uint64_t, Standing>> visited_;
};

const Event* find(std::span<const Event> events, std::uint64_t op, Phase phase) {
  for (const Event& event : events) {
    if (event.op == op && event.phase == phase) {
      return &event;
    }
  }
  return nullptr;
}

Outcome outcome_of(std::span<const Event> events, const Event& invoke) {
  const Event* back = find(events, invoke.op, Phase::returned);
  return back == nullptr ? Outcome::unknown : back->outcome;
}

// The deadline that the holder believed in last; 0 without a lease.
std::int64_t last_deadline(std::span<const Event> events, const Event& granted) {
  const Event* last = &granted;
  for (const Event& event : events) {
    const bool renews = event.operation == Operation::renewal && event.hold == granted.op;
    if (renews && std::tie(event.time, event.deadline) >= std::tie(last->time, last->deadline)) {
      last = &event;
    }
  }
  return last->deadline;
}

// Each way in which the hold may have ended, from its earliest instant on.
void add_ends(std::span<const Event> events, const Event& granted, bool loss_excuses,
              std::vector<Step>& steps) {
  const auto may_end_from = [&](std::int64_t low) {
    steps.push_back({Kind::end, granted.op, 0, low, infinity, true});
  };
  const std::int64_t deadline = last_deadline(events, granted);
  if (deadline != 0) {
    may_end_from(deadline);
  }
  std::int64_t last_life = minus_infinity;
  const Event* death = nullptr;
  for (const Event& event : events) {
    if (event.process == granted.process && event.operation == Operation::death) {
      death = &event;
    } else if (event.process == granted.process) {
      last_life = std::max(last_life, event.time);
    }
    if (event.hold != granted.op) {
      continue;
    }
    const bool told = event.operation == Operation::loss;
    const bool let_go = event.operation == Operation::release && event.phase == Phase::invoked &&
                        outcome_of(events, event) != Outcome::fail;
    if (told || let_go) {
      may_end_from(event.time);
    }
    const bool lost = told || (let_go && outcome_of(events, event) != Outcome::ok);
    if (lost && loss_excuses) {
      may_end_from(minus_infinity);
    }
  }
  if (death != nullptr && deadline == 0) {
    may_end_from(std::max(death->time, last_life));
  }
}

bool lock_accepts(std::span<const Event> events, std::uint32_t name, bool loss_excuses) {
  std::vector<Step> steps;
  for (const Event& event : events) {
    if (event.name != name || event.operation != Operation::acquire ||
        event.shape == Shape::permit || event.phase != Phase::invoked) {
      continue;
    }
    const Event* back = find(events, event.op, Phase::returned);
    if (back == nullptr || back->outcome == Outcome::unknown) {
      steps.push_back(
          {Kind::grant_of_unknown, event.op, 0, event.time, infinity, true, event.shape});
      steps.push_back({Kind::end, event.op, 0, event.time, infinity, true});
    } else if (back->outcome == Outcome::ok) {
      if (back->token == 0 || back->token > static_cast<std::uint64_t>(infinity)) {
        return false;
      }
      steps.push_back(
          {Kind::grant, event.op, back->token, event.time, back->time, false, event.shape});
      add_ends(events, *back, loss_excuses, steps);
    }
  }
  return Search(std::move(steps)).run();
}

bool resource_accepts(std::span<const Event> events, std::uint32_t name) {
  std::vector<Step> steps;
  for (const Event& event : events) {
    if (event.name == name && event.operation == Operation::write &&
        event.phase == Phase::returned && event.outcome == Outcome::ok) {
      const Event* invoke = find(events, event.op, Phase::invoked);
      steps.push_back({Kind::write, event.op, event.token, invoke->time, event.time, false});
    }
  }
  return Search(std::move(steps)).run();
}

struct Permit {
  std::uint64_t token;
  std::int64_t invoked;
  std::int64_t returned;
  std::int64_t end;
};

// Tries every instant of every grant at which anything can begin or end, in the order of tokens.
bool can_be_given(const std::vector<Permit>& permits, const std::set<std::int64_t>& instants,
                  std::size_t most, std::vector<std::int64_t>& granted) {
  const std::size_t next = granted.size();
  const auto held_at = [&](std::int64_t instant) {
    std::size_t held = 0;
    for (std::size_t i = 0; i < granted.size(); ++i) {
      held += granted[i] <= instant && instant < permits[i].end ? 1U : 0U;
    }
    return held;
  };
  if (std::any_of(instants.begin(), instants.end(),
                  [&](std::int64_t instant) { return held_at(instant) > most; })) {
    return false;
  }
  if (next == permits.size()) return true;
  for (const std::int64_t instant : instants) {
    const bool in_order = granted.empty() || granted.back() <= instant;
    if (!in_order || instant < permits[next].invoked || instant > permits[next].returned) continue;
    granted.push_back(instant);
    if (can_be_given(permits, instants, most, granted)) return true;
    granted.pop_back();
  }
  return false;
}

bool semaphore_accepts(std::span<const Event> events, std::uint32_t name, bool loss_excuses,
                       std::uint32_t most) {
  std::vector<Permit> permits;
  std::set<std::int64_t> instants;
  for (const Event& event : events) {
    if (event.name != name || event.operation != Operation::acquire ||
        event.shape != Shape::permit || event.phase != Phase::returned ||
        event.outcome != Outcome::ok) {
      continue;
    }
    Permit permit{event.token, find(events, event.op, Phase::invoked)->time, event.time, infinity};
    std::vector<Step> ends;
    add_ends(events, event, loss_excuses, ends);
    for (const Step& end : ends) permit.end = std::min(permit.end, end.low);
    instants.insert({permit.invoked, permit.returned, permit.end});
    permits.push_back(permit);
  }
  std::sort(permits.begin(), permits.end(),
            [](const Permit& one, const Permit& other) { return one.token < other.token; });
  for (std::size_t i = 0; i < permits.size(); ++i) {
    const bool valid =
        permits[i].token != 0 && permits[i].token <= static_cast<std::uint64_t>(infinity);
    if (!valid || (i > 0 && permits[i].token == permits[i - 1].token)) return false;
  }
  std::vector<std::int64_t> granted;
  return can_be_given(permits, instants, most, granted);
}

}  // namespace

bool wgl_accepts(std::span<const Event> events, bool loss_excuses, std::uint32_t permits) {
  std::set<std::uint32_t> names;
  for (const Event& event : events) {
    if (event.operation != Operation::death) {
      names.insert(event.name);
    }
  }
  return std::all_of(names.begin(), names.end(), [&](std::uint32_t name) {
    return lock_accepts(events, name, loss_excuses) && resource_accepts(events, name) &&
           semaphore_accepts(events, name, loss_excuses, permits);
  });
}

}  // namespace mortise::model
