// SPDX-License-Identifier: MIT
// The commands, with the arities and flags of Redis 7.0 (its src/commands/*.json).
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"
#include "simulation/redis/numbers.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace simulation::redis {
namespace {

constexpr unsigned grows = writes | denied_without_memory;
constexpr unsigned at_any_time = while_loading | not_in_scripts;
constexpr unsigned first_words = at_any_time | before_login | while_busy;

constexpr auto commands = std::to_array<Command>({
    {"get", get, 2, none},
    {"set", set, -3, grows},
    {"setnx", setnx, 3, grows},
    {"setex", setex, 4, grows},
    {"psetex", psetex, 4, grows},
    {"getdel", getdel, 2, writes},
    {"strlen", strlen, 2, none},
    {"append", append, 3, grows},
    {"incr", incr, 2, grows},
    {"decr", decr, 2, grows},
    {"incrby", incrby, 3, grows},
    {"decrby", decrby, 3, grows},

    {"hset", hset, -4, grows},
    {"hmset", hset, -4, grows},
    {"hsetnx", hsetnx, 4, grows},
    {"hget", hget, 3, none},
    {"hmget", hmget, -3, none},
    {"hdel", hdel, -3, writes},
    {"hexists", hexists, 3, none},
    {"hlen", hlen, 2, none},
    {"hstrlen", hstrlen, 3, none},
    {"hgetall", hgetall, 2, none},
    {"hkeys", hkeys, 2, none},
    {"hvals", hvals, 2, none},
    {"hincrby", hincrby, 4, grows},

    {"lpush", lpush, -3, grows},
    {"rpush", rpush, -3, grows},
    {"lpop", lpop, -2, writes},
    {"rpop", rpop, -2, writes},
    {"llen", llen, 2, none},
    {"lrange", lrange, 4, none},
    {"sadd", sadd, -3, grows},
    {"srem", srem, -3, writes},
    {"scard", scard, 2, none},
    {"sismember", sismember, 3, none},

    {"zadd", zadd, -4, grows},
    {"zrem", zrem, -3, writes},
    {"zcard", zcard, 2, none},
    {"zscore", zscore, 3, none},
    {"zmscore", zmscore, -3, none},
    {"zrank", zrank, 3, none},
    {"zcount", zcount, 4, none},
    {"zrange", zrange, -4, none},

    {"del", del, -2, writes},
    {"unlink", del, -2, writes},
    {"exists", exists, -2, none},
    {"type", type, 2, none},
    {"dbsize", dbsize, 1, none},
    {"keys", keys, 2, none},
    {"flushdb", flushdb, -1, writes},
    {"flushall", flushall, -1, writes},

    {"expire", expire, -3, writes},
    {"pexpire", pexpire, -3, writes},
    {"expireat", expireat, -3, writes},
    {"pexpireat", pexpireat, -3, writes},
    {"ttl", ttl, 2, none},
    {"pttl", pttl, 2, none},
    {"expiretime", expiretime, 2, none},
    {"pexpiretime", pexpiretime, 2, none},
    {"persist", persist, 2, writes},

    {"eval", eval, -3, not_in_scripts},
    {"evalsha", evalsha, -3, not_in_scripts},
    {"script", nullptr, -2, none, true},
    {"script|load", script_load, 3, not_in_scripts},
    {"script|exists", script_exists, -3, not_in_scripts},
    {"script|flush", script_flush, -2, not_in_scripts},

    {"subscribe", subscribe, -2, at_any_time | while_listening},
    {"unsubscribe", unsubscribe, -1, at_any_time | while_listening},
    {"publish", publish, 3, while_loading},
    {"pubsub", nullptr, -2, none, true},
    {"pubsub|numsub", pubsub_numsub, -2, while_loading},
    {"ssubscribe", ssubscribe, -2, at_any_time | while_listening},
    {"sunsubscribe", sunsubscribe, -1, at_any_time | while_listening},
    {"spublish", spublish, 3, while_loading},
    {"pubsub|shardnumsub", pubsub_shardnumsub, -2, while_loading},

    {"asking", asking, 1, none},
    {"cluster", nullptr, -2, none, true},
    {"cluster|slots", cluster_slots, 2, none},
    {"cluster|shards", cluster_shards, 2, none},
    {"cluster|keyslot", cluster_keyslot, 3, none},
    {"cluster|countkeysinslot", cluster_countkeysinslot, 3, none},
    {"cluster|myid", cluster_myid, 2, none},
    {"cluster|setslot", cluster_setslot, -4, not_in_scripts},

    {"ping", ping, -1, while_listening},
    {"echo", echo, 2, while_loading},
    {"auth", auth, -2, first_words},
    {"hello", hello, -1, first_words},
    {"quit", quit, -1, first_words | while_listening},
    {"reset", reset, 1, first_words | while_listening},
    {"select", select, 2, while_loading},
    {"client", nullptr, -2, none, true},
    {"client|setname", client_setname, 3, at_any_time},
    {"client|getname", client_getname, 2, at_any_time},
    {"client|id", client_id, 2, at_any_time},

    {"info", info, -1, while_loading},
    {"time", time, 1, while_loading},
    {"role", role, 1, at_any_time},
    {"config", nullptr, -2, none, true},
    {"config|get", config_get, -3, at_any_time},
    {"wait", wait, 3, not_in_scripts},
});

/// A name in small letters, in a place of its own; too long for a command = empty.
class Name {
 public:
  void add(std::string_view word) {
    if (size_ + word.size() > text_.size()) {
      size_ = 0;
      return;
    }
    std::transform(word.begin(), word.end(), text_.begin() + size_, small);
    size_ += word.size();
  }
  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 32> text_{};
  std::size_t size_ = 0;
};

/// Enough to tell most of them apart, and quick.
struct Ends {
  std::size_t operator()(std::string_view name) const noexcept {
    if (name.empty()) return 0;
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(name[at]); };
    return name.size() + 31U * byte(0) + 1'021U * byte(name.size() / 2) +
           32'003U * byte(name.size() - 1);
  }
};
using Table = std::unordered_map<std::string_view, const Command*, Ends>;

Table make_table() {
  Table table;
  for (const Command& command : commands) table.emplace(command.name, &command);
  return table;
}

}  // namespace

const Command* find_command(std::span<const std::string_view> words) {
  static const Table table = make_table();
  Name name;
  name.add(words[0]);
  const auto found = table.find(name.view());
  if (found == table.end()) return nullptr;
  const Command* const command = found->second;
  if (!command->container || words.size() == 1) return command;
  name.add("|");
  name.add(words[1]);
  const auto part = table.find(name.view());
  return part == table.end() ? nullptr : part->second;
}

}  // namespace simulation::redis
