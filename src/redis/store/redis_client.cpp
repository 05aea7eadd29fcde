// SPDX-License-Identifier: MIT
#include "redis/store/redis_client.hpp"

#include "redis/topology/cluster_servers.hpp"
#include "redis/topology/one_server.hpp"

#include <mutex>
#include <utility>

namespace mortise::redis {

RedisClient::RedisClient(const Settings& settings, const remote::Tls* tls, Host& host)
    : requests(settings),
      turns([this](const Acquisition& operation) {
        return !attempts.is_withdrawn(operation.request().attempt);
      }),
      parts{.settings = settings,
            .requests = requests,
            .host = host,
            .clock = *host.clock(),
            .attempts = attempts,
            .turns = turns},
      exchange(writer, attempts, host.clock()) {
  parts.polling = &polling;
  parts.exchange = &exchange;
  const auto make = [this, tls, &host](const Settings& of_server) {
    auto server = std::make_unique<Server>(host, of_server, tls, shared, events);
    exchange.waiting().add_line(*server);
    const std::lock_guard lock(shared.line);
    shared.news.follow(server->told().news);
    return server;
  };
  if (settings.is_cluster()) {
    auto cluster = std::make_unique<ClusterServers>(parts, make);
    exchange.follow(*cluster);
    topology = std::move(cluster);
    parts.topology = topology.get();
    return;
  }
  topology = std::make_unique<OneServer>(parts, make(settings));
  parts.topology = topology.get();
  Server& server = *topology->nth(0);
  if (Witness* const witness = server.witness()) {
    parts.gate = &gate.emplace(parts, *witness);
  }
  if (settings.queue_mode != QueueMode::redisson) return;
  redisson = std::make_unique<RedissonSide>(RedissonSide::Parts{
      .host = host,
      .server = server,
      .attempts = attempts,
      .ask = [this](const auto& operation) { exchange.ask(operation); },
      .inspect =
          [this](auto operation) {
            if (!polling.is_closed())
              exchange.submit(Call::made(Call::Kind::inspect, std::move(operation)));
          }});
  parts.redisson = redisson.get();
}

}  // namespace mortise::redis
