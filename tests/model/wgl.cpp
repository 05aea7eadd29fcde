// SPDX-License-Identifier: MIT
// Each name is searched by itself, and so is its resource: a history of independent objects is
// linearisable if and only if each object's part of it is (Herlihy and Wing).
#include "model/wgl.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace mortise::model {

namespace {

constexpr std::int64_t minus_infinity = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t infinity = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t nobody = 0;
constexpr std::size_t most_steps = 48;

enum class Kind { grant, grant_of_unknown, end, write };

// Something that took place at one instant of [low, high], or, if optional, maybe never did.
struct Step {
  Kind kind;
  std::uint64_t hold;
  std::uint64_t token;
  std::int64_t low;
  std::int64_t high;
  bool optional;
};

class Search {
 public:
  explicit Search(std::vector<Step> steps) : steps_(std::move(steps)) {
    if (steps_.size() > most_steps) {
      throw std::length_error("too many steps for an exhaustive search");
    }
  }

  bool run() { return from(0, nobody, 0); }

 private:
  bool from(std::uint64_t done, std::uint64_t holder, std::uint64_t token) {
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
    if (!visited_.insert({done, holder, token}).second) {
      return false;
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!has(done, i) && steps_[i].low <= limit && takes(steps_[i], done, i, holder, token)) {
        return true;
      }
    }
    return false;
  }

  bool takes(const Step& step, std::uint64_t done, std::size_t i, std::uint64_t holder,
             std::uint64_t token) {
    const std::uint64_t next = done | (std::uint64_t{1} << i);
    switch (step.kind) {
      case Kind::grant:
        return holder == nobody && step.token > token && from(next, step.hold, step.token);
      case Kind::grant_of_unknown:
        // Its token is not known either; the smallest that is allowed leaves most to the others.
        return holder == nobody && from(next, step.hold, token);
      case Kind::end: return holder == step.hold && from(next, nobody, token);
      case Kind::write: return step.token >= token && from(next, holder, step.token);
    }
    return false;
  }

  static bool has(std::uint64_t set, std::size_t i) { return (set >> i & 1) != 0; }

  std::vector<Step> steps_;
  std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> visited_;
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
        event.phase != Phase::invoked) {
      continue;
    }
    const Event* back = find(events, event.op, Phase::returned);
    if (back == nullptr || back->outcome == Outcome::unknown) {
      steps.push_back({Kind::grant_of_unknown, event.op, 0, event.time, infinity, true});
      steps.push_back({Kind::end, event.op, 0, event.time, infinity, true});
    } else if (back->outcome == Outcome::ok) {
      if (back->token == 0 || back->token > static_cast<std::uint64_t>(infinity)) {
        return false;
      }
      steps.push_back({Kind::grant, event.op, back->token, event.time, back->time, false});
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

}  // namespace

bool wgl_accepts(std::span<const Event> events, bool loss_excuses) {
  std::set<std::uint32_t> names;
  for (const Event& event : events) {
    if (event.operation != Operation::death) {
      names.insert(event.name);
    }
  }
  return std::all_of(names.begin(), names.end(), [&](std::uint32_t name) {
    return lock_accepts(events, name, loss_excuses) && resource_accepts(events, name);
  });
}

}  // namespace mortise::model
