// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_judges.hpp"

#include "simulation/scene/redis_request.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace simulation {
namespace {

const std::string inbox = "mortise:inbox:";
constexpr std::size_t client_size = 16;  // of an attempt's id

/// Each waiter asks once a second, and what failed is repeated at once: by then whoever is owed a
/// hold has heard of it, or has given it back.
constexpr Nanos soon = 4s;
constexpr int few = 4;

/// Who waits asks once a second. A second until its inbox is asked for a word, two that it waits
/// for that, and one more question: so long at most.
constexpr Nanos often = 1600ms;
constexpr Nanos found_out = 6500ms;

/// In which a waiter counts as alive, though three seconds would do: clocks drift.
constexpr std::int64_t alive = 2'900'000;  // us

/// From when on it counts as dead.
constexpr std::int64_t silence = 3'000'000;  // us

/// At so many waiters one script looks at most (hand_over.lua).
constexpr int looks_of_a_script = 64;

/// A provisional lease of two seconds, and that clocks drift.
constexpr std::int64_t longest_provisional_lease = 2'010'000;  // us

}  // namespace

RedisJudges::RedisJudges(Room& room, redis::RedisModel& server, const Plan& plan)
    : room_(room), server_(server), steps_(plan.steps), copies_(plan) {
  for (std::size_t i = 0; i < plan.names; ++i) {
    names_.push_back({.key = "mortise:{name/" + std::to_string(i) + "}"});
  }
}

std::int64_t RedisJudges::server_time() const {
  const Host& host = *room_.network.hosts().front();
  return std::chrono::duration_cast<std::chrono::microseconds>(host.wall()).count();
}

bool RedisJudges::listens(const std::string& client) const {
  const auto& all = server_.listeners(inbox + client);
  return std::any_of(all.begin(), all.end(), [&](ConnectionId id) {
    const Connection* const connection = room_.network.find(id);
    return connection != nullptr && connection->held() && !connection->process().dead();
  });
}

bool RedisJudges::has_sent(const Process& process, const Ambush& ambush) const {
  const auto& all = room_.network.connections();
  return std::any_of(all.begin(), all.end(), [&](const auto& each) {
    const auto& [id, connection] = each;
    return &connection->process() == &process &&
           (connection->unacknowledged() > 0 || ambush.keeps(id));
  });
}

void RedisJudges::closed(const Process& process, const Ambush& ambush) {
  for (auto& [client, dead] : dead_) {
    if (dead.process != &process) continue;
    dead.is_closed = true;
    dead.at = server_time();
    dead.has_sent = dead.has_sent || has_sent(process, ambush);
  }
}

void RedisJudges::dies(const Process& process, const Ambush& ambush) {
  closed(process, ambush);  // if its client is being closed
  Dead dead{.process = &process, .at = server_time(), .has_sent = has_sent(process, ambush)};
  std::string client;
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() != &process) continue;
    for (const std::string& channel : server_.channels_of(id)) {
      if (channel.starts_with(inbox)) client = channel.substr(inbox.size());
    }
  }
  if (client.empty()) return;
  for (const Name& name : names_) {
    const redis::LockSeen seen = server_.lock(name.key);
    for (const redis::HoldSeen& hold : seen.holds) {
      if (hold.attempt.starts_with(client)) dead.numbers.push_back(hold.number);
    }
  }
  dead_.emplace(client, dead);
}

std::optional<Verdict> RedisJudges::look(Judge& judge, Nanos quiet) {
  if (verdict_) return verdict_;
  if (server_.counters().large_numbers != 0) {
    return Verdict{"number", "a script gave a command a large number of Lua instead of its text"};
  }
  if (auto verdict = look_at_forgotten()) return verdict;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (auto verdict = look_at(names_[i], i, judge, quiet)) return verdict;
  }
  return std::nullopt;
}

std::optional<Verdict> RedisJudges::look_at(Name& name, std::size_t index, Judge& judge,
                                            Nanos quiet) {
  const redis::LockSeen seen = server_.lock(name.key);
  // S1, whether or not somebody else has come yet.
  for (const std::uint64_t number : judge.believed(index)) {
    if (seen.hold(number) != nullptr) continue;
    return Verdict{"S1", name.key + ": somebody believes in the grant " + std::to_string(number) +
                             ", which the server has ended: " + server_.look(name.key)};
  }
  if (!seen.there) return std::nullopt;
  if (auto verdict = look_at_listeners(name, index, quiet)) return verdict;
  std::erase_if(name.since, [&](const auto& each) { return seen.hold(each.first) == nullptr; });
  for (const redis::HoldSeen& hold : seen.holds) {
    if (hold.attempt.size() < client_size) continue;
    if (auto verdict = look_at_the_dead(name, hold)) return verdict;
    const Nanos now = room_.world.now();
    const auto [since, first] = name.since.try_emplace(hold.number, now);
    if (judge.knows(index, hold.number) || !listens(hold.attempt.substr(0, client_size))) {
      since->second = now;
      continue;
    }
    // Where the server's clock was set back it keeps what has lapsed for its owner.
    if (steps_ || std::min(now - since->second, quiet) < soon) continue;
    return Verdict{"S5", name.key + " is held by an attempt that nobody knows of, " + hold.attempt +
                             ": " + server_.look(name.key)};
  }
  return std::nullopt;
}

// L1: whoever was handed a lock after its death keeps it for a provisional lease, since it does not
// confirm.
std::optional<Verdict> RedisJudges::look_at_the_dead(const Name& name,
                                                     const redis::HoldSeen& hold) const {
  if (steps_) return std::nullopt;
  const auto found = dead_.find(hold.attempt.substr(0, client_size));
  if (found == dead_.end()) return std::nullopt;
  const Dead& dead = found->second;
  if (!dead.is_closed && !dead.process->dead()) return std::nullopt;
  const bool its_own =
      std::find(dead.numbers.begin(), dead.numbers.end(), hold.number) != dead.numbers.end();
  const auto since = static_cast<std::int64_t>(hold.number);
  if (its_own || dead.has_sent || since < dead.at) return std::nullopt;
  if (server_time() - since < longest_provisional_lease) return std::nullopt;
  return Verdict{"L1", name.key + " is kept by a dead waiter: " + server_.look(name.key)};
}

void RedisJudges::runs(const redis::ScriptRun& run) {
  const std::string copies = copies_.look(*room_.network.hosts().front(), run);
  if (!copies.empty() && !verdict_) verdict_ = Verdict{"S5", copies};
  const Attempts pushed = pushed_;
  look_at_pushes(run);
  look_at_free(run);
  look_at_kept(run);
  look_at_turns(run, pushed);
  look_at_places(run);
  note_question(run);
}

// Each waiter has one field next to the queue. A few are left behind if somebody deletes the queue.
void RedisJudges::look_at_places(const redis::ScriptRun& run) {
  constexpr std::size_t left_behind = 10;
  if (run.keys.size() != 1 || verdict_) return;
  const std::string key(run.keys[0]);
  const redis::Value* const found = server_.value(key + ":waiters");
  const auto* const hash = found == nullptr ? nullptr : std::get_if<redis::HashValue>(&found->data);
  const std::size_t size = hash == nullptr ? 0 : hash->fields().size();
  if (size <= server_.lock(key).waiting + left_behind) return;
  verdict_ = Verdict{"debris", std::to_string(size) + " fields are left of who waited for " + key};
}

void RedisJudges::told(std::string_view message) {
  if (message.starts_with("G ")) pushed_.emplace(message.substr(2, message.find(' ', 2) - 2));
}

// Who is answered hears nothing by a push as well: the two come in any order.
void RedisJudges::look_at_pushes(const redis::ScriptRun& run) {
  const auto pushed = std::exchange(pushed_, {});
  if (pushed.empty() || verdict_) return;
  const auto request = RedisRequest::in(run);
  if (!request || !request->granted() || !pushed.contains(request->attempt)) return;
  verdict_ = Verdict{
      "L6", std::string(request->attempt) + " is told of one grant by an answer and by a push"};
}

// Whatever looks at a fair lock that is free hands it to whoever waits, lives and listens: a
// release, somebody who leaves the queue, and somebody who asks and has to wait.
void RedisJudges::look_at_free(const redis::ScriptRun& run) {
  if (!fair_ || verdict_ || run.keys.empty() || run.keys[0].ends_with('!')) return;
  const auto request = RedisRequest::in(run);
  const bool releases =
      run.script == "redis/release" && !request && run.answer.starts_with("released ");
  const bool leaves = run.script == "redis/cancel" && run.answer.starts_with("busy ");
  const bool waits = run.script == "redis/acquire" && request && request->queued();
  if (!releases && !leaves && !waits) return;
  const std::string key(run.keys[0]);
  const redis::LockSeen seen = server_.lock(key);
  // One script looks at so many at most, and may have removed as many as that.
  const bool all_looked_at = seen.waiting < static_cast<std::uint64_t>(looks_of_a_script);
  if (seen.held || seen.waiting == 0 || !all_looked_at) {
    free_with_.erase(key);
    return;
  }
  for (const redis::WaiterSeen& each : server_.waiters(key)) {
    if (server_time() - each.asked > alive || !listens(each.attempt.substr(0, client_size))) {
      continue;
    }
    // Not at once: the next script goes on where this one had to stop.
    const auto [before, first] = free_with_.try_emplace(key, seen.waiting);
    if (first || std::exchange(before->second, seen.waiting) != seen.waiting) return;
    verdict_ =
        Verdict{"L2", key + " is free, and " + each.attempt + " is not told: " + server_.look(key)};
    return;
  }
}

// @param deaf also whoever wants to have it alone, was heard of lately, and does not listen
// @return the first in the queue who lives and listens; nothing = there is none such
std::optional<redis::WaiterSeen> RedisJudges::first_who_waits(const std::string& key,
                                                              bool deaf) const {
  for (const redis::WaiterSeen& each : server_.waiters(key)) {
    const std::int64_t silent = server_time() - each.asked;
    const bool lives = silent <= alive && listens(each.attempt.substr(0, client_size));
    if (lives || (deaf && silent <= silence && each.wants != 'r')) return each;
  }
  return std::nullopt;
}

// Beside readers whoever reads and is the next is let in at once; and whoever comes to read waits
// behind who waits to have the lock alone. Of a semaphore as long as there is a permit.
void RedisJudges::look_at_turns(const redis::ScriptRun& run, const Attempts& pushed) {
  if (run.keys.size() != 1 || verdict_ || !run.script.starts_with("redis/")) return;
  if (run.keys[0].ends_with('!')) return;  // of a key
  const std::string key(run.keys[0]);
  const redis::LockSeen seen = server_.lock(key);
  if (!fair_) return;
  const auto request = RedisRequest::in(run);
  const bool asks = request && request->wants == 'r';
  const std::string who(asks ? request->attempt : std::string_view());
  const bool comes = asks && places_.try_emplace(who).second;
  // The clock of the server may step back, so its times do not show which attempt came first.
  for (const redis::WaiterSeen& each : server_.waiters(key)) {
    Place& its = places_[each.attempt];
    if (its.order == 0 || its.came != each.came) its = {each.came, ++arrivals_};
  }
  // Once an attempt is granted, its place in the queue is gone.
  std::map<std::string, std::uint64_t> granted;
  const auto note = [&](const std::string& attempt) {
    const auto its = places_.find(attempt);
    if (its != places_.end() && seen.is_held_by(attempt)) {
      granted.emplace(attempt, std::exchange(its->second, {}).order);
    }
  };
  for (const std::string& each : pushed) note(each);
  if (asks) note(who);
  const bool reads =
      !seen.holds.empty() && std::all_of(seen.holds.begin(), seen.holds.end(),
                                         [](const auto& each) { return each.reads; });
  if (!reads) return;
  if (const auto permits = server_.field(key, "permits")) {
    const std::size_t most = std::strtoul(permits->c_str(), nullptr, 10);
    if (seen.holds.size() > most) {
      verdict_ = Verdict{"S1", key + " has more holders than permits: " + server_.look(key)};
    }
    if (seen.holds.size() >= most) return;
  }
  const bool frees = run.script == "redis/release" && run.answer.starts_with("released ");
  const bool leaves = run.script == "redis/cancel" && run.answer.starts_with("busy ");
  const bool looks = (asks && request->queued()) || frees || leaves;
  const bool all_looked_at = seen.waiting < static_cast<std::uint64_t>(looks_of_a_script);
  if (const auto first = first_who_waits(key, true);
      looks && all_looked_at && first && first->wants == 'r') {
    verdict_ = Verdict{"L2", key + " is read, and " + first->attempt +
                                 " is not let in: " + server_.look(key) + ", by " +
                                 std::string(run.script) + ": " + std::string(run.answer)};
    return;
  }
  const auto next = first_who_waits(key, false);
  if (!next || next->wants == 'r') return;
  for (const auto& [attempt, order] : granted) {
    if (order < places_[next->attempt].order && !(comes && attempt == who)) continue;
    verdict_ = Verdict{"L6", attempt + " reads " + key + ", and overtakes " + next->attempt};
    return;
  }
}

// Of whoever holds Redisson's channel tells an unlock by force, and it is nobody for whom a lock is
// kept when it is released. A subscription may overtake one release, but not several.
void RedisJudges::look_at_kept(const redis::ScriptRun& run) {
  const bool frees = run.script == "redis/release" && run.answer.starts_with("released ");
  if (run.keys.size() != 2 || !frees || RedisRequest::in(run) || verdict_) return;
  const Connection* const from = room_.network.find(run.connection);
  const auto& all = server_.listeners("redisson_lock__channel:{" + std::string(run.keys[1]) + "}");
  const bool its_own = std::all_of(all.begin(), all.end(), [&](ConnectionId id) {
    const Connection* const to = room_.network.find(id);
    // One that has broken the server may count for a while.
    return from != nullptr && to != nullptr && to->held() && &to->process() == &from->process();
  });
  if (all.empty() || !its_own) return;
  const std::string key(run.keys[0]);
  const auto until = server_.field(key, "reserved_until");
  // A thread that stands still may have the end of the subscription still to send.
  const Nanos stolen = room_.world.stolen(from->process());
  Kept& kept = kept_for_nobody_[key];
  if (kept.process != &from->process() || kept.stolen != stolen) {
    kept = {.process = &from->process(), .stolen = stolen};
  }
  kept.times = until && std::atoll(until->c_str()) > server_time() ? kept.times + 1 : 0;
  if (kept.times < few) return;
  verdict_ =
      Verdict{"L6", key + " is kept for Redisson, of which nobody listens: " + server_.look(key)};
}

void RedisJudges::forgotten(Connection& inbox) {
  forgotten_.push_back({.inbox = inbox.id(), .process = &inbox.process()});
}

void RedisJudges::note_question(const redis::ScriptRun& run) {
  const auto request = RedisRequest::in(run);
  const bool asks = run.script == "redis/ask" || (request && request->queued());
  if (forgotten_.empty() || !asks) return;
  const Connection* const from = room_.network.find(run.connection);
  for (Forgotten& each : forgotten_) {
    if (from == nullptr || &from->process() != each.process) continue;
    const Nanos now = room_.world.now();
    const Nanos stolen = room_.world.stolen(*each.process);
    const bool goes_on = each.by == run.connection && now - each.last < often &&
                         each.stolen == stolen && from->held();
    if (!goes_on) each.since = now;
    each.by = run.connection;
    each.last = now;
    each.stolen = stolen;
  }
}

// Whoever waits asks its inbox for a word once a second, and makes it anew after two in vain.
std::optional<Verdict> RedisJudges::look_at_forgotten() {
  std::erase_if(forgotten_, [&](const Forgotten& each) {
    const Connection* const inbox = room_.network.find(each.inbox);
    return inbox == nullptr || !inbox->held() || each.process->dead();
  });
  for (const Forgotten& each : forgotten_) {
    if (each.last - each.since < found_out) continue;
    return Verdict{"L2", each.process->name() + " waits, and believes in an inbox that is silent"};
  }
  return std::nullopt;
}

void RedisJudges::calm() {
  for (const Forgotten& each : forgotten_) {
    if (Connection* const inbox = room_.network.find(each.inbox)) {
      inbox->flow();
      inbox->cut(false);
    }
  }
  forgotten_.clear();
}

// "The first of our queue, and nobody else of it, listens to Redisson's channel"; another may be on
// its way to it or from it.
std::optional<Verdict> RedisJudges::look_at_listeners(Name& name, std::size_t index, Nanos quiet) {
  const auto& all =
      server_.listeners("redisson_lock__channel:{name/" + std::to_string(index) + "}");
  const auto ours = std::count_if(all.begin(), all.end(), [&](ConnectionId id) {
    const Connection* const connection = room_.network.find(id);
    return connection != nullptr && connection->process().name().starts_with("client");
  });
  name.crowds = ours > 2 && quiet >= soon ? name.crowds + 1 : 0;
  if (name.crowds < 2) return std::nullopt;
  return Verdict{"L6",
                 std::to_string(ours) + " waiters for " + name.key + " are woken by each release"};
}

}  // namespace simulation
