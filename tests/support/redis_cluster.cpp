// SPDX-License-Identifier: MIT
#include "support/redis_cluster.hpp"

#include "redis/store/lock_key.hpp"
#include "support/eventually.hpp"
#include "support/redis_version.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace mortise::test {
namespace {

constexpr std::chrono::seconds cluster_settling_limit{20};

/// CLUSTER INFO by field.
std::map<std::string, std::string> figures_of(RedisTalk& talk) {
  std::map<std::string, std::string> figures;
  std::istringstream text(talk.expect_ok({"CLUSTER", "INFO"}).text);
  for (std::string line; std::getline(text, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t end = line.find_last_not_of("\r\n");
    figures[line.substr(0, colon)] = line.substr(colon + 1, end - colon);
  }
  return figures;
}

/// Who has what, in an order that does not depend on whom one asks.
std::vector<std::string> table_of(RedisTalk& talk) {
  std::vector<std::string> rows;
  for (const RedisAnswer& range : talk.expect_ok({"CLUSTER", "SLOTS"}).items) {
    rows.push_back(std::to_string(range.items.at(0).integer) + "-" +
                   std::to_string(range.items.at(1).integer) + " " +
                   std::to_string(range.items.at(2).items.at(1).integer));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

std::string RedisCluster::missing() {
  if (std::string lack = RedisServer::missing(); !lack.empty()) return lack;
  return redis_major_version() < 7 ? "redis-server 7.0" : "";
}

RedisCluster::RedisCluster(Options options) : options_(std::move(options)) {
  RedisServerOptions each = options_.each;
  each.of_cluster = true;
  each.lines.push_back("cluster-node-timeout " + std::to_string(options_.node_timeout.count()));
  // A replica that has not heard of its master for a while may take over all the same, and as soon
  // as it is asked to: tests are short.
  each.lines.emplace_back("cluster-replica-validity-factor 0");
  each.lines.emplace_back("repl-diskless-sync-delay 0");
  if (each.tls != RedisServerOptions::Tls::none) each.lines.emplace_back("tls-cluster yes");
  for (std::size_t i = 0; i < options_.masters + options_.replicas; ++i)
    servers_.emplace_back(each);
  join();
}

void RedisCluster::join() {
  constexpr std::size_t slots = 16384;
  RedisTalk first = talk(0);
  for (std::size_t i = 0; i < size(); ++i) {
    RedisTalk its = talk(i);
    ids_.push_back(its.expect_ok({"CLUSTER", "MYID"}).text);
    its.expect_ok({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    if (i < options_.masters) {
      its.expect_ok({"CLUSTER", "ADDSLOTSRANGE", std::to_string(slots * i / options_.masters),
                     std::to_string(slots * (i + 1) / options_.masters - 1)});
    }
    if (i == 0) continue;
    const bool encrypted = options_.each.tls != RedisServerOptions::Tls::none;
    const RedisServer& server = servers_[i];
    first.expect_ok({"CLUSTER", "MEET", "127.0.0.1",
                     std::to_string(encrypted ? server.tls_port() : server.port()),
                     std::to_string(server.cluster_port())});
  }
  const bool met = eventually(
      [&] {
        for (std::size_t i = 0; i < size(); ++i) {
          RedisTalk its = talk(i);
          if (figures_of(its)["cluster_known_nodes"] != std::to_string(size())) return false;
        }
        return true;
      },
      cluster_settling_limit);
  if (!met) throw std::runtime_error("the servers of a cluster do not find each other");
  for (std::size_t i = options_.masters; i < size(); ++i) {
    RedisTalk its = talk(i);
    its.expect_ok({"CLUSTER", "REPLICATE", ids_.at((i - options_.masters) % options_.masters)});
  }
  wait_until_settled();
}

void RedisCluster::wait_until_settled() {
  std::string last;
  const bool settled = eventually(
      [&] {
        std::vector<std::string> table;
        for (std::size_t i = 0; i < size(); ++i) {
          if (!runs(i)) continue;
          RedisTalk its = talk(i);
          last = std::to_string(i);
          if (figures_of(its)["cluster_state"] != "ok") return false;
          auto replication = its.info("replication");
          if (replication["role"] == "slave" && replication["master_link_status"] != "up") {
            return false;
          }
          std::vector<std::string> here = table_of(its);
          if (table.empty()) table = here;
          if (table != here) return false;
        }
        return true;
      },
      cluster_settling_limit);
  if (!settled) throw std::runtime_error("the cluster does not settle, says server " + last);
}

bool RedisCluster::runs(std::size_t number) const {
  try {
    return !talk(number).command({"PING"}).is_error();
  } catch (const RedisTalkError&) {
    return false;
  }
}

RedisTalk RedisCluster::any() const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (runs(i)) return talk(i);
  }
  throw std::runtime_error("no server of the cluster runs");
}

std::string RedisCluster::url(const std::string& parameters) const {
  std::string url = "redis+cluster://";
  for (const RedisServer& server : servers_) {
    if (&server != &servers_.front()) url += ',';
    url += "127.0.0.1:" + std::to_string(server.port());
  }
  return parameters.empty() ? url : url + "?" + parameters;
}

std::string RedisCluster::tls_url(const std::string& parameters) const {
  std::string url = "rediss+cluster://";
  for (const RedisServer& server : servers_) {
    if (&server != &servers_.front()) url += ',';
    url += "127.0.0.1:" + std::to_string(server.tls_port());
  }
  return parameters.empty() ? url : url + "?" + parameters;
}

std::uint16_t RedisCluster::slot_of(const std::string& name) const {
  RedisTalk talk = any();
  const auto key = redis::lock_key("mortise:", name);
  return static_cast<std::uint16_t>(talk.expect_ok({"CLUSTER", "KEYSLOT", key}).integer);
}

std::size_t RedisCluster::master_of(std::uint16_t slot) const {
  RedisTalk talk = any();
  for (const RedisAnswer& range : talk.expect_ok({"CLUSTER", "SLOTS"}).items) {
    if (range.items.at(0).integer > slot || range.items.at(1).integer < slot) continue;
    const auto id = std::find(ids_.begin(), ids_.end(), range.items.at(2).items.at(2).text);
    return static_cast<std::size_t>(id - ids_.begin());
  }
  throw std::runtime_error("nobody has slot " + std::to_string(slot));
}

std::size_t RedisCluster::replica_of(std::size_t master) const {
  std::size_t number = size();
  const bool found = eventually(
      [&] {
        RedisTalk talk = any();
        for (const RedisAnswer& row :
             talk.command({"CLUSTER", "REPLICAS", ids_.at(master)}).items) {
          const std::string its = row.text.substr(0, row.text.find(' '));
          number =
              static_cast<std::size_t>(std::find(ids_.begin(), ids_.end(), its) - ids_.begin());
          if (runs(number)) return true;
        }
        return false;
      },
      cluster_settling_limit);
  if (found) return number;
  throw std::runtime_error("no replica of server " + std::to_string(master) + " runs");
}

void RedisCluster::begin_move(std::uint16_t slot, std::size_t to) {
  const std::size_t from = master_of(slot);
  talk(to).expect_ok({"CLUSTER", "SETSLOT", std::to_string(slot), "IMPORTING", ids_.at(from)});
  talk(from).expect_ok({"CLUSTER", "SETSLOT", std::to_string(slot), "MIGRATING", ids_.at(to)});
}

void RedisCluster::move_keys(std::uint16_t slot, std::size_t to) {
  RedisTalk from = talk(master_of(slot));
  // Again where the other one takes nothing at this moment: the cluster is down, or it stands
  // still.
  const auto empty = [&] {
    const RedisAnswer keys =
        from.expect_ok({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100"});
    if (keys.items.empty()) return true;
    std::vector<std::string> words{
        "MIGRATE", "127.0.0.1", std::to_string(servers_.at(to).port()), "", "0", "5000", "REPLACE"};
    const auto [user, secret] = servers_.at(to).administrator();
    words.insert(words.end(), {"AUTH2", user, secret, "KEYS"});
    for (const RedisAnswer& key : keys.items) words.push_back(key.text);
    from.command(words);
    return false;
  };
  if (!eventually(empty, cluster_settling_limit))
    throw std::runtime_error("what is in a slot does not move");
}

void RedisCluster::end_move(std::uint16_t slot, std::size_t to) {
  const std::size_t from = master_of(slot);
  for (const std::size_t each : {to, from}) {
    talk(each).expect_ok({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", ids_.at(to)});
  }
}

void RedisCluster::move(std::uint16_t slot, std::size_t to) {
  begin_move(slot, to);
  move_keys(slot, to);
  end_move(slot, to);
}

// A try that the others do not agree to in time (they vote once each two time-outs) is given up.
void RedisCluster::fail_over(std::size_t replica) {
  constexpr int tries = 10;
  for (int i = 0; i < tries; ++i) {
    talk(replica).command({"CLUSTER", "FAILOVER"});
    const auto time =
        std::max<std::chrono::milliseconds>(options_.node_timeout * 2, std::chrono::seconds(2));
    const auto done = [&] { return talk(replica).info("replication")["role"] == "master"; };
    if (eventually(done, time)) return;
  }
  throw std::runtime_error("the replica does not take over");
}

void RedisCluster::wait_for_fail_over(std::size_t killed) {
  const bool done = eventually(
      [&] {
        RedisTalk its = any();
        for (const RedisAnswer& range : its.expect_ok({"CLUSTER", "SLOTS"}).items) {
          if (range.items.at(2).items.at(2).text == ids_.at(killed)) return false;
        }
        return figures_of(its)["cluster_state"] == "ok";
      },
      cluster_settling_limit);
  if (!done) throw std::runtime_error("nobody takes over from the killed server");
}

void RedisCluster::clear() {
  for (std::size_t i = 0; i < size(); ++i) {
    RedisTalk its = talk(i);
    if (its.info("replication")["role"] == "master") its.expect_ok({"FLUSHALL"});
  }
}

std::uint64_t RedisCluster::sum(const std::string& figure) const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!runs(i)) continue;
    RedisTalk its = talk(i);
    const auto figures = figures_of(its);
    const auto found = figures.find(figure);
    if (found != figures.end()) sum += std::stoull(found->second);
  }
  return sum;
}

}  // namespace mortise::test
