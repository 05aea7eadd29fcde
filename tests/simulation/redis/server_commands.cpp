// SPDX-License-Identifier: MIT
// What a server tells of itself: INFO, ROLE, TIME, CONFIG GET, WAIT.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"
#include "simulation/redis/numbers.hpp"

#include <fnmatch.h>

#include <array>
#include <string>
#include <utility>

namespace simulation::redis {
namespace {

std::string server_section(const ServerState& server) {
  const auto up =
      std::chrono::duration_cast<std::chrono::seconds>(server.site.uptime() - server.started);
  return "# Server\r\nredis_version:" + server.options.version +
         "\r\nredis_mode:" + (server.options.cluster ? "cluster" : "standalone") +
         "\r\nrun_id:" + server.run_id + "\r\nuptime_in_seconds:" + std::to_string(up.count()) +
         "\r\n";
}

std::string memory_section(const ServerState& server) {
  return "# Memory\r\nmaxmemory_policy:" + server.options.eviction_policy + "\r\n";
}

std::string persistence_section(const ServerState& server) {
  return std::string("# Persistence\r\nloading:") + (server.faults.loading ? "1" : "0") + "\r\n";
}

std::string replication_section(const ServerState& server) {
  return std::string("# Replication\r\nrole:") + (server.faults.replica ? "slave" : "master") +
         "\r\nconnected_slaves:0\r\n";
}

}  // namespace

void info(Invocation& call) {
  using Section = std::pair<std::string_view, std::string (*)(const ServerState&)>;
  constexpr std::array<Section, 4> sections{{{"server", server_section},
                                             {"memory", memory_section},
                                             {"persistence", persistence_section},
                                             {"replication", replication_section}}};
  std::string text;
  for (const auto& [name, write] : sections) {
    bool wanted = call.words.size() == 1;
    for (const std::string_view word : call.words.subspan(1)) {
      wanted = wanted || is_word(word, name) || is_word(word, "all") || is_word(word, "default") ||
               is_word(word, "everything");
    }
    if (wanted) text += (text.empty() ? "" : "\r\n") + write(call.server);
  }
  call.reply.bulk(text);
}

void time(Invocation& call) {
  const auto now =
      std::chrono::duration_cast<std::chrono::microseconds>(call.server.site.wall()).count();
  constexpr std::int64_t second = 1'000'000;
  call.reply.array(2);
  call.reply.bulk(std::to_string(now / second));
  call.reply.bulk(std::to_string(now % second));
}

void role(Invocation& call) {
  const bool replica = call.server.faults.replica;
  call.reply.array(replica ? 5 : 3);
  call.reply.bulk(replica ? "slave" : "master");
  if (!replica) {
    call.reply.integer(0);
    return call.reply.array(0);
  }
  call.reply.bulk("127.0.0.1");
  call.reply.integer(6379);
  call.reply.bulk("connected");
  call.reply.integer(0);
}

void config_get(Invocation& call) {
  const std::array<std::pair<std::string, std::string>, 3> settings{{
      {"maxmemory-policy", call.server.options.eviction_policy},
      {"databases", std::to_string(ServerState::database_count)},
      {"appendonly", "no"},
  }};
  std::vector<std::string_view> words;
  for (const auto& [name, value] : settings) {
    for (const std::string_view pattern : call.words.subspan(2)) {
      if (::fnmatch(std::string(pattern).c_str(), name.c_str(), 0) != 0) continue;
      words.insert(words.end(), {name, value});
      break;
    }
  }
  call.reply.array(words.size());
  for (const std::string_view word : words) call.reply.bulk(word);
}

// There are no replicas that could confirm.
void wait(Invocation& call) {
  const auto time = parse_integer(call.word(2));
  if (call.server.faults.replica) {
    return call.reply.error(
        "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if "
        "a "
        "replica is configured to be writable (which is not the default) writes to replicas are "
        "just local and are not propagated.");
  }
  if (!parse_integer(call.word(1))) return call.reply.error(not_an_integer);
  if (!time) return call.reply.error("ERR timeout is not an integer or out of range");
  if (*time < 0) return call.reply.error("ERR timeout is negative");
  call.reply.integer(0);
}

}  // namespace simulation::redis
