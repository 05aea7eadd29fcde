// SPDX-License-Identifier: MIT
// The independent masters of a quorum. What befalls one of them costs a vote; so most of what
// befalls here befalls a majority at once.
#include <mortise/redlock.hpp>

#include "redlock/scripts.hpp"
#include "simulation/redis/redis_server.hpp"
#include "simulation/scene/ambush.hpp"
#include "simulation/scene/attempt_clients.hpp"
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/orphaned_grants.hpp"
#include "simulation/scene/redis_key.hpp"
#include "simulation/scene/redlock_administrators.hpp"
#include "simulation/scene/redlock_copies.hpp"
#include "simulation/scene/redlock_deadlines.hpp"
#include "simulation/scene/redlock_late_force.hpp"
#include "simulation/scene/redlock_late_votes.hpp"
#include "simulation/scene/redlock_newcomers.hpp"
#include "simulation/scene/redlock_orphans.hpp"
#include "simulation/scene/redlock_readers.hpp"
#include "simulation/scene/redlock_returns.hpp"
#include "simulation/scene/redlock_strangers.hpp"
#include "simulation/scene/redlock_tellers.hpp"
#include "simulation/scene/redlock_twins.hpp"
#include "simulation/scene/redlock_voices.hpp"
#include "simulation/scene/stands.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace simulation {
namespace {

using redis::RedisModel;

constexpr std::uint64_t newcomers_stream = 22;
constexpr std::uint64_t trial_readers_stream = 27;

class RedlockStand final : public Stand {
 public:
  RedlockStand(const Plan& plan, Room& room, std::string_view mistake)
      : room_(room),
        seed_(plan.seed),
        names_(plan.names),
        lease_(plan.lease),
        twins_(room, plan),
        clients_(room),
        orphans_(room, clients_, plan),
        administrators_(room),
        copies_(plan),
        orphaned_grants_(clients_, plan) {
    const std::size_t servers = 3 + plan.seed % 3;
    for (std::size_t i = 0; i < servers; ++i) {
      Host& host = room.network.host("redis " + std::to_string(i + 1));
      servers_.push_back(std::make_unique<RedisModel>(host));
      servers_.back()->make_mistake(mistake);
      RedisModel& server = *servers_.back();
      server.on_script([this, &host, &server](const redis::ScriptRun& run) {
        clients_.runs(run);
        administrators_.runs(server, run);
        if (copied_.empty()) copied_ = copies_.look(host, run);
      });
      ambushes_.push_back(std::make_unique<Ambush>(room, host, server, scripts()));
      ambushes_.back()->refuse = [&server](bool yes) { server.set_busy(yes); };
      host.serve(*ambushes_.back());
      orphaned_grants_.watch(host, *servers_.back());
      orphans_.watch(*servers_.back());
      administrators_.watch(*servers_.back());
      url_ += (i == 0 ? "redlock://10.0.0." : ",10.0.0.") + std::to_string(i + 1);
    }
  }
  [[nodiscard]] std::unique_ptr<mortise::Backend> backend(std::size_t /*client*/) override {
    twins_.born(World::running()->process());
    return mortise::redlock::backend(url_);
  }
  std::string special(std::uint64_t which, Random& random, Nanos length) override;
  void calm() override {
    for (const auto& server : servers_) heal(*server);
  }
  [[nodiscard]] Nanos longest_hold_of_the_dead(const Plan& plan) const override {
    return plan.lease + std::chrono::seconds(2) * static_cast<int>(plan.clients);
  }
  void told(const std::string& name, mortise::Token token) override {
    holder_ = &World::running()->process();
    orphaned_grants_.told(name, token);
  }
  void released(const std::string& name, mortise::Token token) override {
    orphaned_grants_.released(name, token);
  }
  [[nodiscard]] std::string complaint(std::size_t clients) override;
  [[nodiscard]] std::optional<Verdict> look(Judge& its_judge, Nanos quiet) override;
  // Connections are made anew within a second or two; waiters ask each second.
  [[nodiscard]] Nanos recovery() const override { return std::chrono::seconds(4); }
  [[nodiscard]] std::uint64_t work() const override {
    std::uint64_t all = 0;
    // Not before somebody wants to know: a hook makes Lua look aside at each instruction.
    const bool first = !std::exchange(counts_, true);
    for (const auto& server : servers_) {
      if (first) server->count_instructions(100);
      all += server->counters().commands_of_scripts + server->counters().instructions / 25;
    }
    return all;
  }
  [[nodiscard]] std::uint64_t requests() const override {
    std::uint64_t all = 0;
    for (const auto& server : servers_) all += server->counters().commands;
    return all;
  }
  // Who has no connection to a server says of it what it found last.
  [[nodiscard]] bool expects(const std::error_code& error) const override {
    return spoils_ && error == mortise::Errc::protocol;
  }
  [[nodiscard]] bool misleads() const override { return twins_.any(); }
  [[nodiscard]] std::optional<Verdict> ended(const Process& client, Nanos asked,
                                             const std::error_code& error) override {
    return twins_.ended(client, asked, error);
  }
  void dies(const Process& process) override { clients_.ends(process); }
  // A quorum hands nothing over: who is told asks all of them anew, and those who collide draw
  // again. Who had to look by itself, a second later, was not told.
  [[nodiscard]] Nanos hand_over() const override { return std::chrono::milliseconds(700); }
  void last_trial() override {
    newcomers_.emplace(room_, *judge, url_, hand_over(), Random::of({seed_, newcomers_stream}));
    newcomers_->come();
    if (judge->verdict()) return;
    readers_.emplace(room_, *judge, url_, Random::of({seed_, trial_readers_stream}));
    readers_->come();
    if (judge->verdict()) return;
    voices_.emplace(room_, *judge, url_);
    voices_->come();
    if (judge->verdict()) return;
    std::vector<RedisModel*> few;
    for (std::size_t i = 0; i < (servers_.size() - 1) / 2; ++i) few.push_back(servers_[i].get());
    returns_.emplace(room_, *judge, url_, std::move(few));
    returns_->come();
    if (judge->verdict()) return;
    strangers_.emplace(room_, *judge, url_, *servers_[0], (servers_.size() - 1) / 2);
    strangers_->come();
    if (judge->verdict()) return;
    tellers_.emplace(room_, *judge, url_, hand_over());
    tellers_->come();
    if (judge->verdict()) return;
    late_votes_.emplace(room_, *judge, url_, *servers_[0]);
    late_votes_->come();
    if (judge->verdict()) return;
    deadlines_.emplace(room_, *judge, url_, servers_.size() / 2 + 1);
    deadlines_->come();
    if (judge->verdict()) return;
    std::vector<RedisModel*> all;
    for (const auto& server : servers_) all.push_back(server.get());
    late_force_.emplace(room_, *judge, url_, std::move(all));
    late_force_->come();
  }
  [[nodiscard]] std::string leftovers(const std::vector<std::string>& names) override;

 private:
  static std::vector<std::string> scripts();
  /// At one server, or at all of them.
  std::string lie(std::uint64_t which, Random& random, Nanos length);
  static void heal(RedisModel& server) {
    server.refuse_memory(false);
    server.set_loading(false);
    server.set_busy(false);
    server.refuse_writes(false);
  }
  /// @return a majority, or all but the first server.
  [[nodiscard]] std::vector<std::size_t> most_of_them(Random& random) const;
  [[nodiscard]] const Process* some_client(Random& random) const;
  [[nodiscard]] std::vector<Connection*> connections_of(const Process& client) const;
  [[nodiscard]] bool lives(RedisModel& server, const std::string& client) const;
  Room& room_;
  const std::uint64_t seed_;
  const std::size_t names_;
  const Nanos lease_;
  const Process* holder_ = nullptr;  // who was told last that it holds
  std::vector<std::unique_ptr<RedisModel>> servers_;
  std::string url_;
  mutable bool counts_ = false;
  RedlockTwins twins_;
  AttemptClients clients_;
  RedlockOrphans orphans_;
  RedlockAdministrators administrators_;
  RedlockCopies copies_;
  std::optional<RedlockNewcomers> newcomers_;
  std::optional<RedlockReaders> readers_;
  std::optional<RedlockVoices> voices_;
  std::optional<RedlockReturns> returns_;
  std::optional<RedlockStrangers> strangers_;
  std::optional<RedlockTellers> tellers_;
  std::optional<RedlockLateVotes> late_votes_;
  std::optional<RedlockDeadlines> deadlines_;
  std::optional<RedlockLateForce> late_force_;
  OrphanedGrants orphaned_grants_;
  std::string copied_;
  /// A vote at a server, since when it is there.
  using Vote = std::tuple<std::size_t, std::string, std::string, std::uint64_t>;
  std::map<Vote, Nanos> votes_;
  std::vector<std::unique_ptr<Ambush>> ambushes_;
  bool spoils_ = false;
};

std::vector<std::size_t> RedlockStand::most_of_them(Random& random) const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < servers_.size(); ++i) all.push_back(i);
  for (std::size_t i = all.size() - 1; i > 0; --i) std::swap(all[i], all[random.below(i + 1)]);
  // Enough to keep the others from a majority, sometimes all but one.
  const std::size_t least = (servers_.size() + 1) / 2;
  all.resize(least + random.below(servers_.size() - least));
  return all;
}

const Process* RedlockStand::some_client(Random& random) const {
  std::vector<const Process*> all;
  for (const auto& [id, connection] : room_.network.connections()) {
    const Process* const process = &connection->process();
    if (connection->held() && !process->dead() && (all.empty() || all.back() != process)) {
      all.push_back(process);
    }
  }
  return all.empty() ? nullptr : all[random.below(all.size())];
}

std::vector<Connection*> RedlockStand::connections_of(const Process& client) const {
  std::vector<Connection*> held;
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() == &client && connection->held()) held.push_back(connection.get());
  }
  return held;
}

std::string RedlockStand::special(std::uint64_t which, Random& random, Nanos length) {
  const Nanos until = room_.world.now() + length;
  RedisModel& server = *servers_[random.below(servers_.size())];
  const auto& hosts = room_.network.hosts();
  switch (which) {
    case 0: server.flush_scripts(); return "the scripts of one server are forgotten";
    case 1:
      for (const auto& each : servers_) each->flush_scripts();
      return "the scripts of all servers are forgotten";
    case 2:
      switch (random.below(4)) {
        case 0: server.refuse_memory(true); break;
        case 1: server.set_loading(true); break;
        case 2: server.set_busy(true); break;
        default: server.refuse_writes(true); break;
      }
      room_.world.after(length, [&server] { heal(server); });
      return "one server refuses";
    case 3:
      for (const std::size_t i : most_of_them(random)) hosts[i]->pause(until);
      return "most servers are stopped";
    case 4:
    case 5: {
      // Whoever holds, as a rule: the others take what lapses behind its back.
      const bool holder = holder_ != nullptr && !holder_->dead() && random.chance(0.7);
      const Process* const client = holder ? holder_ : some_client(random);
      if (client == nullptr) return "nobody is there";
      for (const std::size_t i : most_of_them(random)) {
        room_.network.part(*client, *hosts[i], until);
      }
      return client->name() + " and most servers are parted";
    }
    case 6: {
      const Process* const client = some_client(random);
      return client == nullptr ? "nobody is misled" : twins_.mislead(*client, random, length);
    }
    case 9:
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
    case 17:
    case 18: return lie(which - 9, random, length);
    case 19:
    case 20:
      administrators_.judge = judge;
      return administrators_.take(url_, names_, lease_, random, until);
    default: {
      // What waits to be sent then is on its way while it is sent once more on new connections.
      const Process* const client = some_client(random);
      if (client == nullptr) return "nobody is there";
      const auto which_way = Connection::Way::up;
      for (Connection* const each : connections_of(*client)) each->stall(which_way, until);
      room_.world.after(random.spread(Nanos(20'000), std::min<Nanos>(length, Nanos(100'000'000))),
                        [this, client] {
                          if (client->dead()) return;
                          for (Connection* const each : connections_of(*client)) each->cut(true);
                        });
      return "the connections of " + client->name() + " break, and what was sent comes late";
    }
  }
}

std::vector<std::string> RedlockStand::scripts() {
  namespace all = mortise::redlock::scripts;
  std::vector<std::string> shas;
  for (const auto* each : {&all::acquire, &all::share, &all::release, &all::release, &all::renew}) {
    shas.emplace_back(each->sha);
  }
  return shas;
}

std::string RedlockStand::lie(std::uint64_t which, Random& random, Nanos length) {
  const auto what = static_cast<Ambush::What>(which % Ambush::kinds);
  spoils_ = spoils_ || what == Ambush::What::spoilt_answer;
  if (random.chance(0.5))
    return ambushes_[random.below(ambushes_.size())]->lie(what, random, length);
  std::string words;
  for (const auto& ambush : ambushes_) words = ambush->lie(what, random, length);
  return "at all servers " + words;
}

bool RedlockStand::lives(RedisModel& server, const std::string& client) const {
  const auto& all = server.listeners("mortise:inbox:" + client);
  return std::any_of(all.begin(), all.end(), [&](ConnectionId id) {
    const Connection* const connection = room_.network.find(id);
    return connection != nullptr && connection->held() && !connection->process().dead();
  });
}

// L1: a vote that made no hold keeps others out, and whoever has it takes it back.
std::optional<Verdict> RedlockStand::look(Judge& its_judge, Nanos quiet) {
  constexpr Nanos paid = 3s;  // what a server is owed, and was refused
  constexpr Nanos old = 5s;
  constexpr std::size_t client_size = 16;  // of an attempt's id
  if (auto verdict = orphans_.look(its_judge, quiet)) return verdict;
  const Nanos now = room_.world.now();
  std::map<Vote, Nanos> votes;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    RedisModel& server = *servers_[i];
    if (server.counters().large_numbers != 0) {
      return Verdict{"number", "a script gave a command a large number of Lua instead of its text"};
    }
    for (std::size_t n = 0; n < names_; ++n) {
      const std::string name = lock_name(n);
      const redis::LockSeen seen = server.lock(key_of(name));
      for (const redis::HoldSeen& vote : seen.holds) {
        const Vote its(i, name, vote.attempt, vote.number);
        const auto before = votes_.find(its);
        votes[its] = before == votes_.end() ? now : before->second;
        if (quiet < paid || now - votes[its] < old) continue;
        if (orphaned_grants_.votes(name, vote.attempt) * 2 > servers_.size()) continue;
        if (orphaned_grants_.owns(name, vote.attempt)) continue;
        if (!lives(server, vote.attempt.substr(0, client_size))) continue;
        return Verdict{"L1", "a vote for " + vote.attempt + ", which holds nothing, stands at " +
                                 room_.network.hosts()[i]->name()};
      }
    }
  }
  votes_ = std::move(votes);
  return std::nullopt;
}

std::string RedlockStand::complaint(std::size_t /*clients*/) {
  return copied_.empty() ? orphaned_grants_.complaint(room_.world.now()) : copied_;
}

std::string RedlockStand::leftovers(const std::vector<std::string>& names) {
  for (const auto& server : servers_) {
    for (const std::string& name : names) {
      const std::string key = key_of(name);
      constexpr std::size_t of_a_free_lock = 330;
      std::size_t bytes = 0;
      std::string parts;
      for (const char* const each :
           {"", ":queue", ":contacts", ":readers", ":reader_info", ":forced"}) {
        const std::size_t its = server->bytes_of(key + each);
        bytes += its;
        if (its > 0) parts += ", " + std::to_string(its) + " in '" + each + "'";
      }
      if (bytes > of_a_free_lock) {
        return name + " takes " + std::to_string(bytes) + " bytes" + parts + ": " +
               server->look(key);
      }
    }
  }
  return {};
}

}  // namespace

std::unique_ptr<Stand> make_redlock_stand(const Plan& plan, Room& room, std::string_view mistake) {
  return std::make_unique<RedlockStand>(plan, room, mistake);
}

}  // namespace simulation
