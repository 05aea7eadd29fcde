// SPDX-License-Identifier: MIT
#include "support/redis_sentinels.hpp"

#include "support/eventually.hpp"
#include "support/redis_version.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace mortise::test {
namespace {

constexpr std::chrono::seconds sentinels_settling_limit{30};

std::string field_of(const RedisAnswer& answer, const std::string& which) {
  for (std::size_t i = 0; i + 1 < answer.items.size(); i += 2) {
    if (answer.items[i].text == which) return answer.items[i + 1].text;
  }
  return {};
}

}  // namespace

std::string RedisSentinels::missing() {
  if (std::string lack = RedisServer::missing(); !lack.empty()) return lack;
  return redis_major_version() < 7 ? "redis-server 7.0" : "";
}

RedisSentinels::RedisSentinels(RedisSentinelsOptions options) : options_(std::move(options)) {
  for (std::size_t i = 0; i <= options_.replicas; ++i) {
    RedisServerOptions each = options_.server;
    // Without a disk a replica is sent nothing for the first second after its copy.
    each.lines.emplace_back("repl-diskless-sync no");
    each.lines.emplace_back("repl-ping-replica-period 1");
    if (is_tls()) each.lines.emplace_back("tls-replication yes");
    if (i > 0) {
      each.lines.push_back("replicaof 127.0.0.1 " + std::to_string(port_of(servers_.front())));
    }
    servers_.emplace_back(each);
  }
  const std::string of = std::string(" ") + name + " ";
  const std::size_t quorum = options_.sentinels / 2 + 1;
  for (std::size_t i = 0; i < options_.sentinels; ++i) {
    RedisServerOptions each = options_.sentinel;
    each.sentinel = true;
    if (is_tls()) each.lines.emplace_back("tls-replication yes");
    each.lines.push_back("sentinel monitor" + of + "127.0.0.1 " +
                         std::to_string(port_of(servers_.front())) + " " + std::to_string(quorum));
    each.lines.push_back("sentinel down-after-milliseconds" + of + "700");
    each.lines.push_back("sentinel failover-timeout" + of + "1500");
    if (!each.password.empty()) each.lines.push_back("sentinel sentinel-pass " + each.password);
    sentinels_.emplace_back(each);
    // At first for all, so that they meet soon.
    hasten(sentinels_.back(), std::chrono::milliseconds(200));
  }
  if (!eventually([this] { return is_whole(); }, sentinels_settling_limit)) {
    throw std::runtime_error("the sentinels do not come to agree:\n" + sentinels_.front().log());
  }
  for (RedisServer& each : sentinels_) hasten(each, options_.old_master_goes_on / 4);
}

bool RedisSentinels::is_tls() const noexcept {
  return options_.server.tls != RedisServerOptions::Tls::none;
}

std::uint16_t RedisSentinels::port_of(const RedisServer& server) const noexcept {
  return is_tls() ? server.tls_port() : server.port();
}

// Redis 6.2 has no such command.
void RedisSentinels::hasten(RedisServer& sentinel, std::chrono::milliseconds publish) {
  sentinel.talk().command({"SENTINEL", "DEBUG", "INFO-PERIOD", "200", "PING-PERIOD", "250",
                           "ASK-PERIOD", "100", "PUBLISH-PERIOD", std::to_string(publish.count()),
                           "ELECTION-TIMEOUT", "1000", "MIN-LINK-RECONNECT-PERIOD", "500",
                           "SLAVE-RECONF-TIMEOUT", "1000", "TILT-PERIOD", "500"});
}

std::string RedisSentinels::url(const std::string& parameters) const {
  const bool tls = options_.sentinel.tls != RedisServerOptions::Tls::none;
  std::string text = tls ? "rediss+sentinel://" : "redis+sentinel://";
  for (const RedisServer& each : sentinels_) {
    if (&each != &sentinels_.front()) text += ',';
    text += "127.0.0.1:" + std::to_string(tls ? each.tls_port() : each.port());
  }
  text += std::string("/") + name;
  return parameters.empty() ? text : text + "?" + parameters;
}

std::optional<std::size_t> RedisSentinels::master_by(std::size_t sentinel) const {
  try {
    const RedisAnswer answer =
        sentinels_.at(sentinel).talk().command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name});
    if (answer.items.size() != 2) return std::nullopt;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (answer.items[1].text == std::to_string(port_of(servers_[i]))) return i;
    }
  } catch (const RedisTalkError&) {
    // it is down
  }
  return std::nullopt;
}

std::optional<std::size_t> RedisSentinels::master() const {
  std::optional<std::size_t> all;
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    const std::optional<std::size_t> one = master_by(i);
    if (!one) continue;
    if (all && *all != *one) return std::nullopt;
    all = one;
  }
  return all;
}

bool RedisSentinels::comes_to_another(std::size_t than) const {
  return eventually(
      [&] {
        const std::optional<std::size_t> now = master();
        return now && *now != than;
      },
      sentinels_settling_limit);
}

bool RedisSentinels::is_whole() {
  const std::optional<std::size_t> leader = master();
  if (!leader) return false;
  const std::string port = std::to_string(port_of(servers_[*leader]));
  // A replica whose link is up need not be sent anything yet.
  RedisTalk talk = servers_[*leader].talk();
  talk.expect_ok({"PUBLISH", "nobody", "a word"});
  const std::size_t followers = servers_.size() - 1;
  if (followers > 0 && talk.command({"WAIT", std::to_string(followers), "100"}).integer !=
                           static_cast<std::int64_t>(followers)) {
    return false;
  }
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    RedisTalk::Figures facts = servers_[i].talk().info("replication");
    if (i == *leader ? facts["role"] != "master"
                     : facts["master_port"] != port || facts["master_link_status"] != "up") {
      return false;
    }
  }
  for (const RedisServer& each : sentinels_) {
    const RedisAnswer facts = each.talk().command({"SENTINEL", "MASTER", name});
    if (field_of(facts, "num-slaves") != std::to_string(servers_.size() - 1) ||
        field_of(facts, "num-other-sentinels") != std::to_string(sentinels_.size() - 1) ||
        field_of(facts, "flags") != "master") {
      return false;
    }
    const RedisAnswer replicas = each.talk().command({"SENTINEL", "REPLICAS", name});
    const auto good = [](const RedisAnswer& one) {
      return field_of(one, "flags") == "slave" && field_of(one, "master-link-status") == "ok";
    };
    if (!std::all_of(replicas.items.begin(), replicas.items.end(), good)) return false;
  }
  return true;
}

void RedisSentinels::order_fail_over() {
  for (const RedisServer& each : sentinels_) {
    try {
      const RedisAnswer answer = each.talk().command({"SENTINEL", "FAILOVER", name});
      if (!answer.is_error() || answer.text.starts_with("INPROG")) return;
    } catch (const RedisTalkError&) {
      continue;  // it is down
    }
  }
}

// Sentinels abandon a fail-over that takes a loaded machine too long. So it is ordered again as
// long as all of them name the old master.
void RedisSentinels::fail_over() {
  const std::optional<std::size_t> before = master();
  const bool done = before && eventually(
                                  [&] {
                                    const std::optional<std::size_t> now = master();
                                    if (now && *now == *before) order_fail_over();
                                    return now && *now != *before;
                                  },
                                  sentinels_settling_limit);
  if (!done) throw std::runtime_error("no fail-over:\n" + sentinels_.front().log());
}

}  // namespace mortise::test
