// SPDX-License-Identifier: MIT
#include "simulation/redis/redis_server.hpp"

#include "simulation/redis/command.hpp"
#include "simulation/redis/numbers.hpp"
#include "simulation/redis/rules.hpp"
#include "simulation/redis/script_engine.hpp"

#include <algorithm>
#include <cctype>

namespace simulation::redis {
namespace {

constexpr std::int64_t between_sweeps = 100;  // ms, as Redis' own at hz 10

}  // namespace

RedisModel::RedisModel(Site& site, Options options) : state_(site, std::move(options)) {
  state_.replication.on_acknowledged = [this] { acknowledged(); };
  state_.replication.on_demoted = [this] { demoted(); };
  state_.slots.on_left = [this](std::uint16_t slot) { slot_left(slot); };
  begin_run();
}

void RedisModel::begin_run() {
  constexpr std::string_view digits = "0123456789abcdef";
  constexpr std::size_t id_size = 40;
  state_.started = state_.site.uptime();
  state_.run_id.clear();
  while (state_.run_id.size() < id_size) {
    std::uint64_t luck = state_.site.random();
    for (std::size_t i = 0; i < 8; ++i, luck >>= 4U) state_.run_id += digits[luck & 15U];
  }
}

void RedisModel::opened(ConnectionId connection) {
  Session& session = sessions_[connection];
  session.connection = connection;
  session.id = next_id_++;
  session.logged_in = state_.options.password.empty();
}

void RedisModel::closed(ConnectionId connection) {
  state_.subscriptions.remove_all(connection);
  state_.shards.remove_all(connection);
  sessions_.erase(connection);
}

void RedisModel::restarted(bool keeps_data) {
  sessions_.clear();
  state_.subscriptions.clear();
  state_.shards.clear();
  state_.scripts->flush();
  state_.replication.restarted();
  const bool replica = state_.faults.replica;
  state_.faults = {};
  state_.faults.replica = replica;
  if (!keeps_data) flush_all();
  begin_run();
}

void RedisModel::received(ConnectionId connection, std::string_view bytes) {
  const auto found = sessions_.find(connection);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  RequestParser& parser = session.parser;
  reply_.clear();
  parser.begin(bytes);
  while (!session.leaves && !session.waits) {
    const RequestParser::Found what = parser.next();
    if (what == RequestParser::Found::nothing) break;
    if (what == RequestParser::Found::mistake) {
      refuse(parser.mistake());
      session.leaves = true;
    } else if (!parser.words().empty()) {
      carry_out(session);
    }
  }
  parser.finish();
  if (!reply_.bytes().empty()) state_.site.send(connection, reply_.bytes());
  if (!session.leaves) return;
  state_.site.hang_up(connection);
  closed(connection);
}

void RedisModel::carry_out(Session& session) {
  const std::span<const std::string_view> words = session.parser.words();
  const std::int64_t now = state_.now_ms();
  sweep(now);
  ++state_.counters.commands;
  const Command* const command = find_command(words);
  if (command == nullptr) return answer_unknown(session);
  if (!fits(*command, words.size()) || command->container) {
    return refuse("ERR wrong number of arguments for '" + std::string(command->name) + "' command");
  }
  const std::string why = refusal(state_, session, *command, words);
  const bool asks = command->name == "asking";
  if (!why.empty()) {
    session.asking = false;
    return refuse(why);
  }
  Invocation call{state_, session, words, reply_, now};
  command->run(call);
  if (!asks) session.asking = false;  // resetClient()
  state_.replication.note(*command, words, session.database);
  state_.replication.finish();
  session.written = state_.replication.offset();
  if (session.waits) begin_wait(session);
}

void RedisModel::begin_wait(Session& session) {
  Wait& wait = *session.waits;
  wait.number = ++waits_;
  state_.replication.ask_for_acknowledgements();
  if (wait.time == 0) return;
  state_.site.after(std::chrono::milliseconds(wait.time),
                    [this, connection = session.connection, number = wait.number] {
                      const auto found = sessions_.find(connection);
                      if (found == sessions_.end() || !found->second.waits) return;
                      if (found->second.waits->number == number) end_wait(found->second);
                    });
}

// Then what came behind it.
void RedisModel::end_wait(Session& session) {
  const auto replicas = state_.replication.acknowledged(session.waits->offset);
  session.waits.reset();
  state_.site.send(session.connection, ":" + std::to_string(replicas) + "\r\n");
  received(session.connection, {});
}

void RedisModel::acknowledged() {
  std::vector<ConnectionId> over;
  for (const auto& [connection, session] : sessions_) {
    if (!session.waits) continue;
    const auto replicas =
        static_cast<std::int64_t>(state_.replication.acknowledged(session.waits->offset));
    if (replicas >= session.waits->replicas) over.push_back(connection);
  }
  for (const ConnectionId connection : over) {
    const auto found = sessions_.find(connection);
    if (found != sessions_.end() && found->second.waits) end_wait(found->second);
  }
}

// disconnectAllBlockedClients()
void RedisModel::demoted() {
  std::vector<ConnectionId> all;
  for (const auto& [connection, session] : sessions_) {
    if (session.waits) all.push_back(connection);
  }
  for (const ConnectionId connection : all) {
    state_.site.send(connection,
                     "-UNBLOCKED force unblock from blocking operation, instance state changed "
                     "(master -> replica?)\r\n");
    state_.site.hang_up(connection);
    closed(connection);
  }
}

// removeChannelsInSlot(): each who listens is told, although it has not asked for that.
void RedisModel::slot_left(std::uint16_t slot) {
  for (auto& [connection, session] : sessions_) {
    for (const std::vector<std::string> mine = state_.shards.of(connection);
         const std::string& channel : mine) {
      if (Slots::slot_of(channel) != slot) continue;
      state_.shards.remove(connection, channel);
      RespReply push;
      push.array(3);
      push.bulk("sunsubscribe");
      push.bulk(channel);
      push.integer(static_cast<std::int64_t>(state_.shards.of(connection).size()));
      state_.site.send(connection, push.bytes());
    }
    session.listens = state_.listens(connection);
  }
}

void RedisModel::hear(std::string_view channel, std::string_view message) {
  static_cast<void>(state_.deliver(state_.subscriptions, "message", channel, message));
}

// MIGRATE: as one step, in which neither of them does anything else. How long it has left is told,
// and counted there by another clock.
bool RedisModel::move_key(const std::string& key, RedisModel& to) {
  Keyspace& keys = state_.databases[0];
  Value* const value = keys.find(key, state_.now_ms());
  if (value == nullptr) return false;
  Value& there = to.state_.databases[0].add(key) = std::move(*value);
  if (there.ends) {
    const auto left = std::max<std::int64_t>(*there.ends - state_.now_ms(), 1);
    to.state_.databases[0].expire(key, there, to.state_.now_ms() + left);
  }
  keys.erase(key);
  return true;
}

std::vector<std::string> RedisModel::keys_in(std::uint16_t slot) const {
  std::vector<std::string> all = keys();
  std::erase_if(all, [&](const std::string& key) { return Slots::slot_of(key) != slot; });
  return all;
}

void RedisModel::kill_clients() {
  std::vector<ConnectionId> all;
  for (const auto& [connection, session] : sessions_) all.push_back(connection);
  for (const ConnectionId connection : all) {
    state_.site.hang_up(connection);
    closed(connection);
  }
}

void RedisModel::refuse(std::string_view words) {
  ++state_.counters.errors;
  reply_.error(words);
}

void RedisModel::answer_unknown(Session& session) {
  constexpr std::size_t most = 128;
  const std::span<const std::string_view> words = session.parser.words();
  const auto cut = [](std::string_view word, std::size_t size) {
    return std::string(c_text(word.substr(0, size)));
  };
  if (const Command* const whole = find_command(words.first(1)); whole != nullptr) {
    std::string name(words[0]);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return refuse("ERR unknown subcommand '" + cut(words[1], most) + "'. Try " + name + " HELP.");
  }
  std::string arguments;
  for (const std::string_view word : words.subspan(1)) {
    if (arguments.size() >= most) break;
    arguments += "'" + cut(word, most - arguments.size()) + "' ";
  }
  refuse("ERR unknown command '" + cut(words[0], most) +
         "', with args beginning with: " + arguments);
}

void RedisModel::sweep(std::int64_t now) {
  if (now < swept_ + between_sweeps && now >= swept_) return;
  swept_ = now;
  for (Keyspace& keys : state_.databases) keys.sweep(now);
}

void RedisModel::flush_scripts() { state_.scripts->flush(); }

void RedisModel::flush_all() {
  for (Keyspace& keys : state_.databases) keys.clear();
}

bool RedisModel::evict(std::string_view key) {
  const bool there = value(key) != nullptr;
  if (there) state_.databases[0].erase(key);
  return there;
}

void RedisModel::put(std::string_view key, std::string_view field, std::string_view text) {
  state_.databases[0].add(key).data.emplace<HashValue>().set(field, text);
}

std::string RedisModel::evict_one() {
  std::vector<std::string> all = keys();
  if (all.empty()) return {};
  std::string key = std::move(all[state_.site.random() % all.size()]);
  state_.databases[0].erase(key);
  return key;
}

void RedisModel::make_mistake(std::string_view name) { state_.scripts->make_mistake(name); }

void RedisModel::count_instructions(int step) { state_.scripts->count_instructions(step); }

}  // namespace simulation::redis
