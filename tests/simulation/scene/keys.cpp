// SPDX-License-Identifier: MIT
#include "simulation/scene/keys.hpp"

#include <algorithm>

namespace simulation {
namespace {

using mortise::KeyState;

/// What two clocks differ by in a time.
Nanos slack(Nanos time) { return time / 500 + std::chrono::milliseconds(2); }

std::string shown(const std::string& bytes) { return bytes.substr(0, 40); }

const std::string& bytes_of(const mortise::Outcome& outcome) {
  return outcome.state() == KeyState::failed ? outcome.reason() : outcome.result();
}

}  // namespace

void Keys::blame(const char* promise, const Call& call, const std::string& words) {
  judge_.blame(promise, call.process->name() + ", key " + std::to_string(call.key) + ": " + words);
}

Keys::Attempt& Keys::attempt(std::size_t key, RunNumber run) {
  auto& attempts = keys_[key].attempts;
  return *std::find_if(attempts.begin(), attempts.end(),
                       [&](const Attempt& each) { return each.run == run; });
}

Steps Keys::clock_steps() const {
  Steps most;
  for (const auto& host : room_.network.hosts()) {
    most.ahead = std::max(most.ahead, host->stepped().ahead);
    most.back = std::max(most.back, host->stepped().back);
  }
  return most;
}

bool Keys::may_be_gone(const Key& key, Nanos recorded_after) const {
  const Nanos now = room_.world.now();
  if (!key.forgetting.empty()) return true;
  const Nanos kept = keep_ - clock_steps().ahead - slack(keep_);
  return now >= recorded_after + kept || key.forgotten_until >= recorded_after;
}

void Keys::look_for_second_success(const Call& call, const Attempt& first, const Attempt& later) {
  if (call.always || first.token >= later.token) return;
  if (first.told == never || first.state != KeyState::succeeded) return;
  if (later.granted >= first.said + keep_ - clock_steps().ahead - slack(keep_)) return;
  const Key& key = keys_[call.key];
  if (key.forgotten_until >= first.said || !key.forgetting.empty()) return;
  blame("O1", call,
        "run " + std::to_string(later.number) + " begins although run " +
            std::to_string(first.number) + " has succeeded with " + shown(first.bytes));
}

Keys::RunNumber Keys::begins(const Call& call, std::uint64_t number, mortise::Token token) {
  Key& key = keys_[call.key];
  const Attempt mine{.run = ++runs_,
                     .process = call.process,
                     .number = number,
                     .token = token,
                     .asked = call.asked,
                     .granted = room_.world.now()};
  for (const Attempt& each : key.attempts) {
    look_for_second_success(call, each, mine);
    const bool before = each.token < token;
    if (before && number <= each.number && !may_be_gone(key, each.asked)) {
      blame("O4", call,
            "run " + std::to_string(number) + " comes after run " + std::to_string(each.number));
    }
  }
  key.attempts.push_back(mine);
  return mine.run;
}

void Keys::concludes(const Call& call, RunNumber run, KeyState state, std::string bytes) {
  Attempt& mine = attempt(call.key, run);
  mine.state = state;
  mine.bytes = std::move(bytes);
  mine.said = room_.world.now();
}

void Keys::concluded(const Call& call, RunNumber run, const Told& what) {
  Attempt& mine = attempt(call.key, run);
  const mortise::Outcome& outcome = what.outcome;
  if (what.in_doubt) {
    // What stands for good finds itself when it is said again.
    const bool stands = mine.state == KeyState::succeeded && !call.always;
    const bool held = what.took + slack(what.took) < what.left;
    if (stands && held && what.answered && !may_be_gone(keys_[call.key], mine.said)) {
      blame("S5", call, "what can be known is said to be in doubt: " + shown(mine.bytes));
    }
    return;
  }
  if (outcome.lost()) {
    mine.lost = true;
    if (mine.seen) blame("O2", call, "it lost its run, and others were told " + shown(mine.bytes));
    const bool ended_early = judge_.excused(first_name + call.key, mine.token);
    if (what.took + slack(what.took) < what.left && !ended_early) {
      blame("S3", call, "a run that nobody else had is said to be lost");
    }
    return;
  }
  if (outcome.state() != mine.state || bytes_of(outcome) != mine.bytes) {
    blame("O1", call, "it said " + shown(mine.bytes) + ", and was told another outcome");
  }
  mine.told = room_.world.now();
  if (mine.state == KeyState::succeeded) ++told_successes_;
  const auto attempts = keys_[call.key].attempts;
  for (const Attempt& each : attempts) look_for_second_success(call, mine, each);
}

Keys::Attempt* Keys::find(const Call& call, const mortise::Outcome& outcome) {
  for (Attempt& each : keys_[call.key].attempts) {
    if (each.said == never || each.state != outcome.state()) continue;
    if (each.bytes == bytes_of(outcome)) return &each;
  }
  blame("O1", call, "it is told " + shown(bytes_of(outcome)) + ", which nobody has said");
  return nullptr;
}

void Keys::told(const Call& call, const mortise::Outcome& outcome, bool may_be_stale) {
  if (outcome.state() == KeyState::pending) {
    if (!may_be_stale && !was_robbed_here(call)) expect_known(call, outcome);
    return;
  }
  Attempt* const said = find(call, outcome);
  if (said == nullptr) return;
  said->seen = true;
  if (outcome.state() == KeyState::succeeded) ++told_successes_;
  if (said->lost) blame("O2", call, "it is told what a runner said that had lost the key");
  if (!said->bytes.starts_with(call.fingerprint + ":")) {
    blame("O3", call, "it is told what came of another request: " + shown(said->bytes));
  }
  if (outcome.number() != said->number || outcome.token() != said->token) {
    blame("O4", call,
          "an outcome of run " + std::to_string(said->number) + " is told as that of run " +
              std::to_string(outcome.number()));
  }
  const Key& key = keys_[call.key];
  const Nanos kept = keep_ + clock_steps().back + slack(keep_);
  if (said->told != never && call.asked > said->told + kept) {
    blame("O3", call, "it is told what should be forgotten: " + shown(said->bytes));
  }
  if (said->told < key.forgotten_from && call.seen > key.forgotten_by) {
    blame("O3", call, "it is told what was forgotten: " + shown(said->bytes));
  }
  expect_known(call, outcome);
}

// Who may not wait is told so at once where its own process runs the key, and that one may not have
// heard yet that its run was taken by force.
bool Keys::was_robbed_here(const Call& call) {
  const std::size_t name = first_name + call.key;
  const Key& key = keys_[call.key];
  return std::any_of(key.attempts.begin(), key.attempts.end(), [&](const Attempt& each) {
    return each.process == call.process && each.told == never && !each.lost &&
           (judge_.was_taken(name, each.token) || judge_.excused(name, each.token));
  });
}

// The last success that was told before what this call saw stands, unless time or somebody ended
// it.
void Keys::expect_known(const Call& call, const mortise::Outcome& outcome) {
  const Key& key = keys_[call.key];
  for (const Attempt& each : key.attempts) {
    if (call.always || each.state != KeyState::succeeded || each.told >= call.seen) continue;
    if (may_be_gone(key, each.said)) continue;
    if (outcome.state() == KeyState::succeeded && outcome.result() == each.bytes) continue;
    const bool other = outcome.state() == KeyState::succeeded;
    blame(other ? "O1" : "O3", call,
          shown(each.bytes) + " was told as recorded; now it is told " +
              (other ? shown(outcome.result())
                     : "the key's state is " + std::to_string(static_cast<int>(outcome.state()))));
    return;
  }
}

void Keys::mismatch(const Call& call) {
  if (call.only_one) blame("O3", call, "it is refused although all ask for the same");
}

void Keys::looked(const Call& call, const mortise::Outcome& outcome) {
  if (outcome.state() == KeyState::succeeded || outcome.state() == KeyState::failed) {
    Attempt* const said = find(call, outcome);
    if (said == nullptr) return;
    said->seen = true;
    if (said->lost) blame("O2", call, "it sees what a runner said that had lost the key");
  }
  expect_known(call, outcome);
}

void Keys::forgets(const Call& call) { keys_[call.key].forgetting.push_back(call.asked); }

void Keys::forgot(const Call& call, std::optional<bool> forgotten) {
  Key& key = keys_[call.key];
  // What is in doubt may come at any time: of this key nothing is expected any more.
  if (!forgotten) return;
  const auto mine = std::find(key.forgetting.begin(), key.forgetting.end(), call.asked);
  if (mine != key.forgetting.end()) key.forgetting.erase(mine);
  if (!*forgotten) return;
  key.forgotten_until = room_.world.now();
  if (call.asked <= key.forgotten_from) return;
  key.forgotten_from = call.asked;
  key.forgotten_by = room_.world.now();
}

std::string Keys::new_bytes(std::string_view fingerprint) {
  return std::string(fingerprint) + ":" + std::to_string(++bytes_);
}

}  // namespace simulation
