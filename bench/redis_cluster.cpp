// SPDX-License-Identifier: MIT
#include "redis_cluster.hpp"

#include "raw_redis.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

namespace mortise::bench {
namespace {

constexpr std::size_t slots = 16384;
constexpr std::chrono::seconds to_join{20};

bool takes_requests(std::uint16_t port) {
  const std::string figures = RawRedis(port).text({"CLUSTER", "INFO"});
  return figures.find("cluster_state:ok") != std::string::npos &&
         figures.find("cluster_known_nodes:" + std::to_string(masters)) != std::string::npos;
}

}  // namespace

RedisCluster::RedisCluster(Mode mode) {
  for (auto& server : servers_) {
    server = std::make_unique<RedisServer>(mode, RedisServer::Kind::of_a_cluster);
  }
  join();
}

void RedisCluster::join() {
  RawRedis first(servers_.front()->port());
  for (std::size_t i = 0; i < masters; ++i) {
    RawRedis redis(servers_[i]->port());
    redis.ask({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    redis.ask({"CLUSTER", "ADDSLOTSRANGE", std::to_string(slots * i / masters),
               std::to_string(slots * (i + 1) / masters - 1)});
    if (i == 0) continue;
    first.ask({"CLUSTER", "MEET", "127.0.0.1", std::to_string(servers_[i]->port()),
               std::to_string(servers_[i]->cluster_port())});
  }
  const auto until = std::chrono::steady_clock::now() + to_join;
  for (const auto& server : servers_) {
    while (!takes_requests(server->port())) {
      if (std::chrono::steady_clock::now() > until) throw std::runtime_error("no cluster");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

std::string RedisCluster::url() const {
  std::string url = "redis+cluster://";
  for (const auto& server : servers_) {
    if (server != servers_.front()) url += ',';
    url += "127.0.0.1:" + std::to_string(server->port());
  }
  return url;
}

}  // namespace mortise::bench
