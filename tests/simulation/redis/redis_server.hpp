// SPDX-License-Identifier: MIT
// A Redis 7.0 server in the simulation: RESP2 bytes in and out, the shipped Lua scripts run by Lua
// 5.1, the time and the luck of its Site. redis_*_test.cpp compares it with a real redis-server.
// How commands are carried out is in <kind>_commands.cpp, when they are refused in rules.cpp.
#pragma once

#include "simulation/redis/keyspace.hpp"
#include "simulation/redis/resp_reply.hpp"
#include "simulation/redis/server_state.hpp"
#include "simulation/redis/session.hpp"
#include "simulation/server.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::redis {

/// A hold as the server has it.
struct HoldSeen {
  std::string attempt{};
  std::uint64_t number = 0;
  std::int64_t since = 0;  ///< in us since 1970; 0 = unknown
  std::int64_t ends = 0;   ///< the same
  bool reads = false;
  std::uint64_t step = 0;  ///< of a vote in a quorum: in which its attempt got it
};

struct LockSeen {
  bool there = false;   ///< there is such a hash
  bool held = false;    ///< the end of its lease lies ahead, by this server's clock
  std::string attempt;  ///< of the owner, or of the last one
  std::uint64_t number = 0;
  std::int64_t since = 0;   ///< in us since 1970, of this server's clock; 0 = freed
  std::int64_t ends = 0;    ///< in us since 1970; 0 = freed
  std::int64_t shared = 0;  ///< when the last lease of a reader ends, as its hash says
  std::uint64_t waiting = 0;
  std::string label;
  bool read = false;            ///< readers hold it
  std::vector<HoldSeen> holds;  ///< that stand
  /// @return the hold with this number, or null.
  [[nodiscard]] const HoldSeen* hold(std::uint64_t of_number) const;
  [[nodiscard]] bool is_held_by(std::string_view who) const;
};

/// A place in the queue of a lock.
struct WaiterSeen {
  std::string attempt{};
  char wants = 'w';        ///< see src/redis/scripts/acquire.lua
  std::int64_t came = 0;   ///< in us since 1970, of the server's clock
  std::int64_t asked = 0;  ///< last, the same
};

class RedisModel final : public Server {
 public:
  explicit RedisModel(Site& site, Options options = {});

  void opened(ConnectionId connection) override;
  void received(ConnectionId connection, std::string_view bytes) override;
  void closed(ConnectionId connection) override;
  /// Another run_id, no scripts, nobody listens; faults end, unless it is a replica.
  void restarted(bool keeps_data) override;

  // What the world does to it between events.
  void flush_scripts();
  void flush_all();
  /// @return whether there was such a key in database 0
  bool evict(std::string_view key);
  /// @return the key, of database 0, that the seed has chosen; empty = there was none
  std::string evict_one();
  /// A hash at a key of database 0, as a stranger writes one.
  void put(std::string_view key, std::string_view field, std::string_view text);
  /// OOM for whatever takes memory; in a script before its first write only.
  void refuse_memory(bool yes) { state_.faults.no_memory = yes; }
  void set_loading(bool yes) { state_.faults.loading = yes; }
  /// It becomes a replica, or a master.
  void set_readonly(bool yes) { state_.faults.replica = yes; }
  /// MISCONF: it cannot save.
  void refuse_writes(bool yes) { state_.faults.no_disk = yes; }
  /// BUSY: a stranger's script does not end.
  void set_busy(bool yes) { state_.faults.busy = yes; }
  /// @return whether it answers each script with an error
  [[nodiscard]] bool refuses_scripts() const {
    return state_.faults.loading || state_.faults.busy || state_.faults.no_disk;
  }
  /// NOPERM for a command: "publish", "client|setname".
  void deny(std::string_view command) { state_.faults.denied.emplace(command); }
  void allow_all() { state_.faults.denied.clear(); }
  /// As a replica that was promoted: this data, and whatever else is this server's.
  void take_data_of(const RedisModel& other) { state_.databases = other.state_.databases; }
  /// What it has to do with other servers; see there.
  [[nodiscard]] Replication& replication() noexcept { return state_.replication; }
  [[nodiscard]] Slots& slots() noexcept { return state_.slots; }
  [[nodiscard]] std::vector<std::string> keys_in(std::uint16_t slot) const;
  /// MIGRATE. @return whether there was such a key
  bool move_key(const std::string& key, RedisModel& to);
  /// Another master of its cluster has been told to publish that.
  void hear(std::string_view channel, std::string_view message);
  /// @return who listens to a sharded channel
  [[nodiscard]] const std::vector<ConnectionId>& shard_listeners(std::string_view channel) const {
    return state_.shards.listeners(channel);
  }
  /// CLIENT KILL TYPE normal, and pubsub: what a sentinel does to whose role it changes.
  void kill_clients();
  /// From now on its scripts have this mistake (script_mutants.hpp); they are forgotten first.
  /// @throws std::logic_error at the load of a script which that does not fit
  void make_mistake(std::string_view name);

  // What judges see. Nothing of this changes anything that a client could notice.
  [[nodiscard]] const Counters& counters() const noexcept { return state_.counters; }
  /// Counts Lua's instructions in steps of so many, from one script to the next; 0 = not at all. In
  /// steps of 1 it makes scripts some three times as slow; in steps of 100 it costs nothing.
  void count_instructions(int step);
  [[nodiscard]] const std::string& run_id() const noexcept { return state_.run_id; }
  /// @return the keys of database 0, sorted
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] std::size_t key_count() const { return keys().size(); }
  /// @return the bytes of all names and values in a key of database 0; 0 = no such key
  [[nodiscard]] std::size_t bytes_of(std::string_view key);
  /// @return a field of a hash in database 0
  [[nodiscard]] std::optional<std::string> field(std::string_view key, std::string_view name);
  /// @return who holds a lock, of the backends redis and redlock alike
  [[nodiscard]] LockSeen lock(std::string_view key);
  /// @return who waits for it, in order.
  [[nodiscard]] std::vector<WaiterSeen> waiters(std::string_view key);
  /// The same in words, for the trace of a failing run.
  [[nodiscard]] std::string look(std::string_view key);
  /// Tells a judge of each message, also where nobody listens.
  void on_message(std::function<void(std::string_view channel, std::string_view message)> told) {
    state_.on_message = std::move(told);
  }
  /// Tells a judge of each script that ran to its end.
  void on_script(std::function<void(const ScriptRun&)> told) { state_.on_script = std::move(told); }
  /// @return who listens to a channel
  [[nodiscard]] const std::vector<ConnectionId>& listeners(std::string_view channel) const {
    return state_.subscriptions.listeners(channel);
  }
  /// @return where a connection listens
  [[nodiscard]] const std::vector<std::string>& channels_of(ConnectionId connection) const {
    return state_.subscriptions.of(connection);
  }
  /// Values with their types and ends, for comparisons.
  [[nodiscard]] Value* value(std::string_view key, std::size_t database = 0);

 private:
  void begin_run();
  void carry_out(Session& session);
  void answer_unknown(Session& session);
  void refuse(std::string_view words);
  void sweep(std::int64_t now);
  void begin_wait(Session& session);
  void end_wait(Session& session);
  void acknowledged();
  void demoted();
  void slot_left(std::uint16_t slot);

  ServerState state_;
  std::map<ConnectionId, Session> sessions_;
  std::int64_t next_id_ = 1;
  std::uint64_t waits_ = 0;
  std::int64_t swept_ = 0;  // in ms since 1970
  RespReply reply_;
};

}  // namespace simulation::redis
