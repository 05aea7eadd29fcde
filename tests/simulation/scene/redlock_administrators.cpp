// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_administrators.hpp"

#include <mortise/redlock.hpp>

#include "simulation/redis/numbers.hpp"
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/redis_key.hpp"
#include "support/force.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace simulation {
namespace {

std::uint64_t step_in(std::string_view text) {
  return static_cast<std::uint64_t>(redis::parse_integer(text).value_or(0));
}

bool asks_who(const redis::ScriptRun& run) {
  return run.arguments.size() == 1 && run.arguments[0] == "who";
}

}  // namespace

std::string RedlockAdministrators::take(const std::string& url, std::size_t names, Nanos lease,
                                        Random& random, Nanos until) {
  luck_ = Random(random.next());
  if (random.chance(part_that_lurks)) {
    lurker_ = Lurker{url, names, lease, until};
    return "an administrator waits for somebody who is getting a name";
  }
  std::size_t which = random.below(names);
  // Those who read together are to end together.
  for (std::size_t i = 0; i < names && random.chance(part_with_most_holders); ++i) {
    if (holders_of(i).size() > holders_of(which).size()) which = i;
  }
  take(url, which, lease);
  return "an administrator takes " + lock_name(which);
}

void RedlockAdministrators::take(const std::string& url, std::size_t which, Nanos lease) {
  Process& administrator = room_.world.process("administrator");
  administrator.clock.offset = std::chrono::hours(1);
  Call& call = calls_[&administrator];
  call.name = which;
  call.lease = lease;
  call.loses = luck_.chance(part_that_loses) ? part_of_answers : 0;
  room_.world.spawn(administrator, [this, url, which] {
    const Holders held = holders_of(which);
    try {
      const auto ended =
          mortise::test::force_release(mortise::redlock::backend(url), lock_name(which), patience);
      if (!ended.empty()) look_at_rest(which, held);
    } catch (const mortise::Error&) {
      // Its own connections suffer like everybody's.
    }
  });
}

// The votes are given, and do not come in time: its client does not know that it holds.
void RedlockAdministrators::lurk(const redis::ScriptRun& run) {
  const bool vote = run.answer.starts_with("vote ") && run.arguments.size() >= fewest_arguments &&
                    run.arguments[6] != "hold";
  if (!lurker_ || !vote || run.keys.empty()) return;
  if (room_.world.now() >= lurker_->until) return lurker_.reset();
  Connection* const from = room_.network.find(run.connection);
  if (from != nullptr) from->stall(Connection::Way::down, lurker_->until);
  for (std::size_t i = 0; i < lurker_->names; ++i) {
    if (run.keys[0] != key_of(i)) continue;
    if (!holders_of(i).contains({std::string(run.arguments[0]), step_in(run.arguments[1])})) {
      return;
    }
    const Lurker its = *std::exchange(lurker_, std::nullopt);
    room_.world.after(on_its_way, [this, its, i] { take(its.url, i, its.lease); });
    return;
  }
}

RedlockAdministrators::Holders RedlockAdministrators::holders_of(std::size_t name) const {
  std::map<Vote, std::size_t> votes;
  for (redis::RedisModel* const server : servers_) {
    for (const redis::HoldSeen& hold : server->lock(key_of(name)).holds) {
      ++votes[{hold.attempt, hold.step}];
    }
  }
  Holders all;
  for (const auto& [vote, count] : votes) {
    if (count * 2 > servers_.size()) all.insert(vote);
  }
  return all;
}

// Its owner may renew it until most servers have taken it back, and believes in it for a lease from
// then on at most.
void RedlockAdministrators::runs(redis::RedisModel& server, const redis::ScriptRun& run) {
  lurk(run);
  Connection* const from = room_.network.find(run.connection);
  const auto found = from == nullptr ? calls_.end() : calls_.find(&from->process());
  if (found == calls_.end()) return;
  Call& call = found->second;
  // A vote that came late has another number than its owner was told.
  for (redis::RedisModel* const each : servers_) {
    for (const redis::HoldSeen& hold : each->lock(key_of(call.name)).holds) {
      call.seen[{hold.attempt, hold.step}].numbers.insert(hold.number);
      std::uint64_t& last = call.found[hold.attempt];
      if (each == &server && asks_who(run)) last = std::max(last, hold.step);
    }
  }
  if (run.answer.starts_with("released ")) ends(call, server, run.arguments[0]);
  if (!luck_.chance(call.loses)) return;
  room_.world.after(on_its_way, [this, id = run.connection] {
    if (Connection* const connection = room_.network.find(id)) connection->cut(true);
  });
}

// S3: it ends the votes that it has found, and no later vote of the same attempt. The server keeps
// the step of a vote that was freed.
void RedlockAdministrators::ends(Call& call, redis::RedisModel& server,
                                 std::string_view attempt) const {
  const std::string key = key_of(call.name);
  const std::string whose(attempt);
  const bool owned = server.field(key, "owner") == whose;
  const std::uint64_t step = step_in(
      (owned ? server.field(key, "step") : server.field(key + ":reader_info", whose + ":step"))
          .value_or(""));
  if (step > call.found[whose]) {
    judge->blame("S3", "a release by force ends a vote of step " + std::to_string(step) + " of " +
                           whose + ", and has found step " + std::to_string(call.found[whose]));
  }
  Seen& seen = call.seen[{whose, step}];
  seen.ended.insert(&server);
  const bool most = seen.ended.size() * 2 > servers_.size();
  const Nanos until = most ? room_.world.now() + call.lease + call.lease / 500 : never;
  for (const std::uint64_t number : seen.numbers) judge->forced(call.name, number, until);
}

// S4: each owner that had a majority at the start, and has it still, was to be ended with the
// others.
void RedlockAdministrators::look_at_rest(std::size_t name, const Holders& held) const {
  for (const Vote& vote : holders_of(name)) {
    if (!held.contains(vote)) continue;
    judge->blame("S4", "a release by force leaves " + vote.first + ", who held " + lock_name(name));
  }
}

}  // namespace simulation
