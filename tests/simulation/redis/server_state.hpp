// SPDX-License-Identifier: MIT
// What a server is made of, for its commands: its data, who listens, its scripts, its faults.
#pragma once

#include "simulation/redis/keyspace.hpp"
#include "simulation/redis/replication.hpp"
#include "simulation/redis/slots.hpp"
#include "simulation/redis/subscriptions.hpp"
#include "simulation/server.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace simulation::redis {

class ScriptEngine;

struct Options {
  std::string version = "7.0.15";  ///< as INFO tells it; the behaviour is always that of 7.0
  std::string password{};          ///< of the user "default"; empty = none is needed
  std::string eviction_policy = "noeviction";
  bool cluster = false;  ///< says that it is a node of a cluster; it behaves as a single master
};

/// What went through a server since it was made; a restart does not set it back.
struct Counters {
  std::uint64_t commands = 0;  ///< of connections
  std::uint64_t commands_of_scripts = 0;
  std::uint64_t scripts = 0;       ///< runs
  std::uint64_t instructions = 0;  ///< of Lua; see RedisModel::count_instructions()
  std::uint64_t published = 0;     ///< messages that were delivered to somebody
  std::uint64_t errors = 0;        ///< answers to connections
  /// Arguments of a script's commands that are numbers of Lua from 1e8 on. Redis 7.2.4 writes some
  /// of them as "1e+8", which PEXPIRE refuses and which is not the text of a grant's number.
  std::uint64_t large_numbers = 0;
};

/// A script that ran to its end, for a judge.
struct ScriptRun {
  ConnectionId connection{};
  std::string_view script;  ///< "redis/acquire"; empty = none of ours
  std::span<const std::string_view> keys;
  std::span<const std::string_view> arguments;
  std::string_view answer;  ///< the words of a list and its lists, one blank between two
};

/// What an administrator, or bad luck, has done to a server.
struct Faults {
  bool no_memory = false;
  bool loading = false;
  bool replica = false;
  bool no_disk = false;                       ///< cannot save: MISCONF
  bool busy = false;                          ///< in a script of somebody's that does not end
  std::set<std::string, std::less<>> denied;  ///< commands that nobody may use: "client|setname"
};

struct ServerState {
  static constexpr std::size_t database_count = 16;

  ServerState(Site& its_site, Options its_options);
  ~ServerState();
  ServerState(const ServerState&) = delete;
  ServerState& operator=(const ServerState&) = delete;

  [[nodiscard]] std::int64_t now_ms() const;
  /// Delivers to those who listen. @return how many they are
  std::size_t publish(std::string_view channel, std::string_view message);
  /// @return whether a connection listens to any channel.
  [[nodiscard]] bool listens(ConnectionId connection) const {
    return !subscriptions.of(connection).empty() || !shards.of(connection).empty();
  }
  /// The same by a sharded channel.
  std::size_t publish_to_shard(std::string_view channel, std::string_view message);

  std::size_t deliver(const Subscriptions& to, std::string_view kind, std::string_view channel,
                      std::string_view message);

  Site& site;
  Options options;
  Faults faults;
  Counters counters;
  std::string run_id;
  Nanos started{};
  std::array<Keyspace, database_count> databases;
  Subscriptions subscriptions;
  Subscriptions shards;  ///< to sharded channels
  Replication replication{*this};
  Slots slots{*this};
  std::unique_ptr<ScriptEngine> scripts;
  // A judge's; null = none.
  std::function<void(std::string_view channel, std::string_view message)> on_message;
  std::function<void(const ScriptRun&)> on_script;
};

}  // namespace simulation::redis
