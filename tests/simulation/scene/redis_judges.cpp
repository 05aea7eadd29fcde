// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_judges.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace simulation {
namespace {

using namespace std::chrono_literals;

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

/// @param place "<attempt> <last contact> <lease> ...", with two zeros in front of a reader's lease
bool wants_to_read(std::string_view place) {
  const std::size_t lease = place.find(' ', place.find(' ') + 1) + 1;
  return place.substr(lease, 2) == "00";
}

/// At so many waiters one script looks at most (lock.lua).
constexpr int looks_of_a_script = 64;

/// A provisional lease of two seconds, and that clocks drift.
constexpr std::int64_t longest_provisional_lease = 2'010'000;  // us

}  // namespace

RedisJudges::RedisJudges(Room& room, redis::RedisModel& server, const Plan& plan)
    : room_(room), server_(server), steps_(plan.steps), copies_(room) {
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

void RedisJudges::dies(const Process& process, const Ambush& ambush) {
  Dead dead{.at = server_time()};
  std::string client;
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() != &process) continue;
    if (connection->unacknowledged() > 0 || ambush.keeps(id)) dead.has_sent = true;
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
  const bool its_own =
      std::find(dead.numbers.begin(), dead.numbers.end(), hold.number) != dead.numbers.end();
  const auto since = static_cast<std::int64_t>(hold.number);
  if (its_own || dead.has_sent || since < dead.at) return std::nullopt;
  if (server_time() - since < longest_provisional_lease) return std::nullopt;
  return Verdict{"L1", name.key + " is kept by a dead waiter: " + server_.look(name.key)};
}

// A connection with a call that is unanswered for a second is dropped, and whoever was answered on
// it knows that older copies are refused: to tell it again and again makes the lock grow.
void RedisJudges::runs(const redis::ScriptRun& run) {
  const std::string copies = copies_.look(run);
  if (!copies.empty() && !verdict_) verdict_ = Verdict{"S5", copies};
  const Attempts pushed = pushed_;
  look_at_pushes(run);
  look_at_free(run);
  look_at_kept(run);
  look_at_turns(run, pushed);
  note_question(run);
  const auto& arguments = run.arguments;
  const ConnectionId connection = run.connection;
  if (arguments.size() < 2 || arguments[1].size() < 2 || arguments[1][1] != '1') return;
  const Nanos now = room_.world.now();
  Tombstone& tombstone =
      tombstones_
          .try_emplace(std::pair(connection, std::string(arguments[0])), Tombstone{.since = now})
          .first->second;
  if (now - tombstone.last < 500ms) return;  // asked together, before the answer
  tombstone.last = now;
  if (++tombstone.times < 4 || now - tombstone.since < 3s || verdict_) return;
  verdict_ =
      Verdict{"debris", std::string(arguments[0]) + " has older copies refused again and again"};
}

void RedisJudges::told(std::string_view message) {
  // Of a lock, or of a key.
  if (message.starts_with("G ") || message.starts_with("K "))
    pushed_.emplace(message.substr(2, message.find(' ', 2) - 2));
}

// Who is answered hears nothing by a push as well: the two come in any order.
void RedisJudges::look_at_pushes(const redis::ScriptRun& run) {
  const auto pushed = std::exchange(pushed_, {});
  if (pushed.empty() || verdict_) return;
  const auto& words = run.arguments;
  const bool releases = words.size() == 6;
  const bool takes = words.size() == 5;
  if (!takes && !releases) return;
  const std::string requester(words[releases ? 3 : 0]);
  const std::string_view answer =
      releases ? run.answer.substr(std::min<std::size_t>(2, run.answer.size())) : run.answer;
  if (!answer.starts_with('G') || !pushed.contains(requester)) return;
  verdict_ = Verdict{"L6", requester + " is told of one grant by an answer and by a push"};
}

// Whatever looks at a fair lock that is free hands it to whoever waits, lives and listens: a
// release, somebody who leaves the queue, and somebody who asks and has to wait.
void RedisJudges::look_at_free(const redis::ScriptRun& run) {
  const auto& words = run.arguments;
  if (!fair_ || verdict_) return;
  if (run.keys.empty() || words.empty()) return;
  const bool of_a_hold = words[0].find(' ') != std::string_view::npos;
  const bool releases = words.size() == 3 && of_a_hold && run.answer == "F";
  const bool leaves = words.size() == 3 && !of_a_hold && run.answer.starts_with("B ");
  const bool waits = words.size() == 5 && !of_a_hold && run.answer.starts_with("Q ");
  if (!releases && !leaves && !waits) return;
  const std::string key(run.keys[0]);
  const redis::LockSeen seen = server_.lock(key);
  // One script looks at so many at most, and may have removed as many as that.
  const bool all_looked_at = seen.waiting < static_cast<std::uint64_t>(looks_of_a_script);
  if (seen.held || seen.waiting == 0 || !all_looked_at) {
    free_with_.erase(key);
    return;
  }
  const redis::Value* const value = server_.value(key);
  const auto* const hash = value == nullptr ? nullptr : std::get_if<redis::HashValue>(&value->data);
  if (hash == nullptr) return;
  for (const auto& [field, text] : hash->fields()) {
    if (!field.starts_with('#')) continue;  // "<attempt> <last contact> ..."
    const std::size_t blank = text.find(' ');
    const std::int64_t contact = std::atoll(text.c_str() + std::min(blank, text.size()));
    if (server_time() - contact > alive || !listens(text.substr(0, client_size))) continue;
    // Not at once: the next script goes on where this one had to stop.
    const auto [before, first] = free_with_.try_emplace(key, seen.waiting);
    if (first || std::exchange(before->second, seen.waiting) != seen.waiting) return;
    verdict_ = Verdict{"L2", key + " is free, and " + text + " is not told: " + server_.look(key)};
    return;
  }
}

// @param deaf also whoever wants to have it alone, was heard of lately, and does not listen
// @return the first in the queue who lives and listens; ticket 0 = there is none such
RedisJudges::Waiter RedisJudges::first_who_waits(const std::string& key, bool deaf) const {
  const redis::Value* const value = server_.value(key);
  const auto* const hash = value == nullptr ? nullptr : std::get_if<redis::HashValue>(&value->data);
  if (hash == nullptr) return {};
  Waiter its;
  for (const auto& [field, text] : hash->fields()) {
    if (!field.starts_with('#')) continue;
    const std::int64_t ticket = std::atoll(field.c_str() + 1) + 1;
    if (its.ticket != 0 && ticket > its.ticket) continue;
    const std::int64_t contact = std::atoll(text.c_str() + std::min(text.find(' '), text.size()));
    const bool heard_of = server_time() - contact <= silence;
    const bool lives = server_time() - contact <= alive && listens(text.substr(0, client_size));
    if (!lives && !(deaf && heard_of && !wants_to_read(text))) continue;
    its = {.ticket = ticket, .place = text};
  }
  return its;
}

// Beside readers whoever reads and is the next is let in at once; and whoever comes to read waits
// behind who waits to have the lock alone. Of a semaphore as long as there is a permit.
void RedisJudges::look_at_turns(const redis::ScriptRun& run, const Attempts& pushed) {
  const auto& words = run.arguments;
  if (run.keys.size() != 1 || words.size() < 3 || verdict_) return;
  if (run.keys[0].ends_with('!')) return;  // of a key
  const std::string key(run.keys[0]);
  const redis::LockSeen seen = server_.lock(key);
  constexpr std::int64_t rounding = 2'000;  // us: the end of all leases is written in ms
  if (seen.read && seen.holds.empty() && seen.ends - server_time() > rounding) {
    verdict_ = Verdict{"L1", key + " is kept for nobody: " + server_.look(key)};
    return;
  }
  if (!fair_) return;
  const bool of_a_hold = words[0].find(' ') != std::string_view::npos;
  const bool of_permits = words.size() == 6 && words[1].substr(3, 1) == "p";
  const bool asks =
      !of_a_hold && (of_permits || (words.size() == 5 && words[1].substr(3, 1) == "s"));
  const bool successor = of_a_hold && words.size() > 3;
  const std::string who(successor ? words[3] : words[0]);
  const bool comes = (asks || successor) && tickets_.try_emplace(who, 0).second;
  if (const auto ticket = server_.field(key, who); (asks || successor) && ticket) {
    tickets_[who] = std::atoll(ticket->c_str()) + 1;
  }
  // Its place is another one's once it is granted.
  std::map<std::string, std::int64_t> granted;
  const auto note = [&](const std::string& attempt) {
    const auto its = tickets_.find(attempt);
    if (its != tickets_.end() && seen.is_held_by(attempt)) {
      granted.emplace(attempt, std::exchange(its->second, 0));
    }
  };
  for (const std::string& each : pushed) note(each);
  if (asks || successor) note(who);
  const bool reads =
      !seen.holds.empty() && std::all_of(seen.holds.begin(), seen.holds.end(),
                                         [](const auto& each) { return each.reads; });
  if (!reads) return;
  if (const auto permits = server_.field(key, "n")) {
    const std::size_t most = std::strtoul(permits->c_str(), nullptr, 10);
    if (seen.holds.size() > most) {
      verdict_ = Verdict{"S1", key + " has more holders than permits: " + server_.look(key)};
    }
    if (seen.holds.size() >= most) return;
  }
  const bool looks = (asks && run.answer.starts_with("Q ")) || (of_a_hold && run.answer == "F") ||
                     (words.size() == 3 && run.answer.starts_with("B "));
  const bool all_looked_at = seen.waiting < static_cast<std::uint64_t>(looks_of_a_script);
  if (const Waiter first = first_who_waits(key, true);
      looks && all_looked_at && first.ticket != 0 && wants_to_read(first.place)) {
    verdict_ = Verdict{
        "L2", key + " is read, and " + first.place + " is not let in: " + server_.look(key)};
    return;
  }
  const Waiter next = first_who_waits(key, false);
  if (next.ticket == 0 || wants_to_read(next.place)) return;
  for (const auto& [attempt, ticket] : granted) {
    if (ticket <= next.ticket && !(comes && attempt == who)) continue;
    verdict_ = Verdict{"L6", attempt + " reads " + key + ", and overtakes " + next.place};
    return;
  }
}

// Of whoever holds Redisson's channel tells an unlock by force, and it is nobody for whom a lock is
// kept when it is released. A subscription may overtake one release, but not several.
void RedisJudges::look_at_kept(const redis::ScriptRun& run) {
  const auto& words = run.arguments;
  if (run.keys.size() != 2 || words.size() != 3 || run.answer != "F" || verdict_) return;
  const Connection* const from = room_.network.find(run.connection);
  const auto& all = server_.listeners("redisson_lock__channel:{" + std::string(run.keys[1]) + "}");
  const bool its_own = std::all_of(all.begin(), all.end(), [&](ConnectionId id) {
    const Connection* const to = room_.network.find(id);
    // One that has broken the server may count for a while.
    return from != nullptr && to != nullptr && to->held() && &to->process() == &from->process();
  });
  if (all.empty() || !its_own) return;
  const std::string key(run.keys[0]);
  const auto until = server_.field(key, "y");
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
  if (forgotten_.empty() || run.arguments.size() != 5 || !run.answer.starts_with("Q ")) return;
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
