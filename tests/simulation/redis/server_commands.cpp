// SPDX-License-Identifier: MIT
// What a server tells of itself: INFO, ROLE, TIME, CONFIG GET, WAIT.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"
#include "simulation/redis/numbers.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace simulation::redis {
namespace {

std::string server_section(const ServerState& server) {
  const auto up =
      std::chrono::duration_cast<std::chrono::seconds>(server.site.uptime() - server.started);
  return "# Server\r\nredis_version:" + server.options.version +
         "\r\nredis_mode:" + (server.options.cluster ? "cluster" : "standalone") +
         "\r\nrun_id:" + server.run_id + "\r\nserver_time_usec:" +
         std::to_string(
             std::chrono::duration_cast<std::chrono::microseconds>(server.site.wall()).count()) +
         "\r\nuptime_in_seconds:" + std::to_string(up.count()) + "\r\n";
}

std::string memory_section(const ServerState& server) {
  return "# Memory\r\nmaxmemory_policy:" + server.options.eviction_policy + "\r\n";
}

std::string persistence_section(const ServerState& server) {
  return std::string("# Persistence\r\nloading:") + (server.faults.loading ? "1" : "0") + "\r\n";
}

std::string text_of_master(const Replication& its) {
  const Replication::Member& master = its.member(*its.master());
  const std::string offset = std::to_string(its.offset());
  return "master_host:" + master.host + "\r\nmaster_port:" + std::to_string(master.port) +
         "\r\nmaster_link_status:" + (its.is_synchronized() ? "up" : "down") +
         "\r\nslave_repl_offset:" + offset + "\r\n";
}

std::string replication_section(const ServerState& server) {
  const Replication& its = server.replication;
  std::string text =
      std::string("# Replication\r\nrole:") + (server.faults.replica ? "slave" : "master") + "\r\n";
  if (its.master()) text += text_of_master(its);
  text += "connected_slaves:" + std::to_string(its.copiers().size()) + "\r\n";
  for (std::size_t i = 0; i < its.copiers().size(); ++i) {
    const Replication::Copier& each = its.copiers()[i];
    const Replication::Member& member = its.member(each.number);
    text += "slave" + std::to_string(i) + ":ip=" + member.host +
            ",port=" + std::to_string(member.port) +
            ",state=" + (each.online ? "online" : "wait_bgsave") +
            ",offset=" + std::to_string(std::max<std::int64_t>(each.acknowledged, 0)) +
            ",lag=0\r\n";
  }
  return text + "master_repl_offset:" + std::to_string(its.offset()) + "\r\n";
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
  const Replication& its = call.server.replication;
  if (!call.server.faults.replica) {
    call.reply.array(3);
    call.reply.bulk("master");
    call.reply.integer(its.offset());
    std::vector<Replication::Copier> online = its.copiers();
    std::erase_if(online, [](const auto& each) { return !each.online; });
    call.reply.array(online.size());
    for (const Replication::Copier& each : online) {
      call.reply.array(3);
      call.reply.bulk(its.member(each.number).host);
      call.reply.bulk(std::to_string(its.member(each.number).port));
      call.reply.bulk(std::to_string(each.acknowledged));
    }
    return;
  }
  // Of one that a fault has made a replica nobody knows whose.
  const Replication::Member master =
      its.master() ? its.member(*its.master()) : Replication::Member{nullptr, "127.0.0.1"};
  call.reply.array(5);
  call.reply.bulk("slave");
  call.reply.bulk(master.host);
  call.reply.integer(master.port);
  call.reply.bulk(!its.master() || its.is_synchronized() ? "connected" : "connect");
  call.reply.integer(its.offset());
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

// It looks at what its own connection has written last, and holds that up until so many have it.
void wait(Invocation& call) {
  if (call.server.faults.replica) {
    return call.reply.error(
        "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if "
        "a "
        "replica is configured to be writable (which is not the default) writes to replicas are "
        "just local and are not propagated.");
  }
  const auto replicas = parse_integer(call.word(1));
  if (!replicas) return call.reply.error(not_an_integer);
  const auto time = parse_integer(call.word(2));
  if (!time) return call.reply.error("ERR timeout is not an integer or out of range");
  if (*time < 0) return call.reply.error("ERR timeout is negative");
  const std::int64_t offset = call.session.written;
  const auto have = static_cast<std::int64_t>(call.server.replication.acknowledged(offset));
  if (have >= *replicas) return call.reply.integer(have);
  call.session.waits = Wait{.replicas = *replicas, .offset = offset, .time = *time};
}

}  // namespace simulation::redis
