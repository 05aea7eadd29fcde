// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_administrators.hpp"

#include <mortise/redlock.hpp>

#include "simulation/scene/bounds.hpp"
#include "simulation/scene/redis_key.hpp"
#include "support/force.hpp"

#include <chrono>
#include <utility>

namespace simulation {

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
    if (!holders_of(i).contains(std::string(run.arguments[0]))) return;
    const Lurker its = *std::exchange(lurker_, std::nullopt);
    room_.world.after(on_its_way, [this, its, i] { take(its.url, i, its.lease); });
    return;
  }
}

RedlockAdministrators::Holders RedlockAdministrators::holders_of(std::size_t name) const {
  std::map<std::string, std::size_t> votes;
  for (redis::RedisModel* const server : servers_) {
    for (const redis::HoldSeen& hold : server->lock(key_of(name)).holds) ++votes[hold.attempt];
  }
  Holders all;
  for (const auto& [attempt, count] : votes) {
    if (count * 2 > servers_.size()) all.insert(attempt);
  }
  return all;
}

// Its owner may renew it until most servers have taken it back, and believes in it for a lease from
// then on at most.
void RedlockAdministrators::runs(const redis::ScriptRun& run) {
  lurk(run);
  Connection* const from = room_.network.find(run.connection);
  const auto found = from == nullptr ? calls_.end() : calls_.find(&from->process());
  if (found == calls_.end()) return;
  Call& call = found->second;
  // A vote that came late has another number than its owner was told.
  for (redis::RedisModel* const server : servers_) {
    for (const redis::HoldSeen& hold : server->lock(key_of(call.name)).holds) {
      call.seen[hold.attempt].numbers.insert(hold.number);
    }
  }
  if (run.answer.starts_with("freed ") && !run.arguments.empty()) {
    Seen& seen = call.seen[std::string(run.arguments[0].substr(0, run.arguments[0].find(' ')))];
    const bool most = ++seen.ended * 2 > servers_.size();
    const Nanos until = most ? room_.world.now() + call.lease + call.lease / 500 : never;
    for (const std::uint64_t number : seen.numbers) judge->forced(call.name, number, until);
  }
  if (!luck_.chance(call.loses)) return;
  room_.world.after(on_its_way, [this, id = run.connection] {
    if (Connection* const connection = room_.network.find(id)) connection->cut(true);
  });
}

// S4: whoever had a majority when it was asked for, and has it still, was to be ended with the
// others.
void RedlockAdministrators::look_at_rest(std::size_t name, const Holders& held) const {
  for (const std::string& attempt : holders_of(name)) {
    if (!held.contains(attempt)) continue;
    judge->blame("S4", "a release by force leaves " + attempt + ", who held " + lock_name(name));
  }
}

}  // namespace simulation
