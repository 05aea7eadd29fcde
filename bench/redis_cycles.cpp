// SPDX-License-Identifier: MIT
#include "redis_cycles.hpp"

#include <mortise/mortise.hpp>

#include "contention.hpp"
#include "figure.hpp"
#include "process.hpp"
#include "raw_redis_lock.hpp"
#include "raw_redis_pipeline.hpp"
#include "redis_cluster.hpp"
#include "redis_server.hpp"

#include <hiredis/hiredis.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* name = "bench/redis";
constexpr const char* waited_for = "bench/waited_for";
constexpr int many = 4000;

/// @return the p50 in microseconds, each cycle timed alone: X has outliers that a mean would keep.
template <class Cycle>
double p50_of(Cycle&& cycle) {
  return p50(many, [&] { return timed(1, cycle); }) / 1000;
}

/// What an uncontended cycle of this client takes.
double cycle_of(Client& client) {
  Lock lock = client.make_lock(name);
  return p50_of([&] {
    lock.lock();
    lock.unlock();
  });
}

/// @return the rate of threads with names of their own that share one client.
Grants throughput_of(const std::string& url, int threads) {
  Client client(url);
  client.check(10s);
  return contend(threads, [&](int thread) -> Baton {
    const auto lock =
        std::make_shared<Lock>(client.make_lock(std::string(name) + std::to_string(thread)));
    return {.take = [lock] { lock->lock(); }, .give = [lock] { lock->unlock(); }};
  });
}

void wait_until_queued(const Lock& lock) {
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (lock.holder().value().waiters.value_or(0) == 0) {
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("nobody waits");
    std::this_thread::sleep_for(1ms);
  }
}

/// What one thread has where each has a connection of its own.
struct Alone {
  RawRedis redis;
  OwnScripts scripts;
  RawReply granted{};
};

}  // namespace

double redis_cycle(Mode mode) {
  const RedisServer server(mode);
  Client client(server.url());
  return cycle_of(client);
}

double redis_cycle_beside_waiter(Mode mode) {
  const RedisServer server(mode);
  Client holder(server.url());
  Client client(server.url());
  Lock held = holder.make_lock(waited_for);
  std::jthread waiter;  // ends after the hold does, also where something throws
  const std::scoped_lock hold(held);
  waiter = std::jthread([&client] {
    Lock wanted = client.make_lock(waited_for);
    const std::scoped_lock turn(wanted);
  });
  wait_until_queued(held);
  return cycle_of(client);
}

double raw_redis_cycle(Mode mode) {
  const RedisServer server(mode);
  RawRedis redis(server.port());
  OwnScripts::load(redis);
  OwnScripts scripts(name);
  return p50_of([&] {
    const RawReply granted = redis.ask(scripts.acquire());
    redis.ask(scripts.release(*granted));
  });
}

double plain_redis_cycle(Mode mode) {
  const RedisServer server(mode);
  RawRedis redis(server.port());
  PlainScripts scripts(name);
  scripts.load(redis);
  return p50_of([&] {
    redis.ask(scripts.acquire());
    redis.ask(scripts.release());
  });
}

double redis_failed_try(Mode mode) {
  const RedisServer server(mode);
  Client holder(server.url());
  Lock held = holder.make_lock(name);
  held.lock();
  Client client(server.url());
  Lock lock = client.make_lock(name);
  const double p50 = p50_of([&] {
    if (lock.try_lock()) throw std::runtime_error("a held lock was taken");
  });
  held.unlock();
  return p50;
}

double plain_redis_failed_try(Mode mode) {
  const RedisServer server(mode);
  RawRedis redis(server.port());
  PlainScripts holder(name);
  holder.load(redis);
  redis.ask(holder.acquire());
  PlainScripts scripts(name, "owner:2");
  scripts.load(redis);
  return p50_of([&] {
    const RawReply left = redis.ask(scripts.acquire());
    if (left->type != REDIS_REPLY_INTEGER) throw std::runtime_error("a held lock was taken");
  });
}

double cluster_cycle(Mode mode) {
  const RedisCluster cluster(mode);
  Client client(cluster.url());
  return cycle_of(client);
}

double redis_throughput(Mode mode, int threads) {
  const RedisServer server(mode);
  return throughput_of(server.url(), threads).per_second;
}

double redis_threads_cpu(Mode mode, int threads) {
  const RedisServer server(mode);
  return throughput_of(server.url(), threads).cpu_us;
}

double cluster_throughput(Mode mode, int threads) {
  const RedisCluster cluster(mode);
  return throughput_of(cluster.url(), threads).per_second;
}

double raw_cluster_throughput(Mode mode) {
  std::vector<std::unique_ptr<RedisServer>> servers;
  for (std::size_t i = 0; i < masters; ++i) servers.push_back(std::make_unique<RedisServer>(mode));
  const Shared<std::array<double, masters>> rates;
  std::vector<std::unique_ptr<Process>> programs;
  for (std::size_t i = 0; i < masters; ++i) {
    programs.push_back(std::make_unique<Process>(
        [&, i] { (*rates)[i] = pipelined_cycles(servers[i]->port(), 50, 16).per_second; }));
  }
  for (const auto& program : programs) program->wait();
  return std::accumulate(rates->begin(), rates->end(), 0.0);
}

double raw_redis_throughput(Mode mode) {
  const RedisServer server(mode);
  return pipelined_cycles(server.port(), 50, 16).per_second;
}

double raw_redis_cpu(Mode mode) {
  const RedisServer server(mode);
  return pipelined_cycles(server.port(), 1, 800).cpu_us;
}

double connection_each(Mode mode, int threads) {
  const RedisServer server(mode);
  RawRedis redis(server.port());
  OwnScripts::load(redis);
  const Grants grants = contend(threads, [&](int thread) -> Baton {
    const std::shared_ptr<Alone> alone(
        new Alone{RawRedis(server.port()), OwnScripts(std::string(name) + std::to_string(thread))});
    return {.take = [alone] { alone->granted = alone->redis.ask(alone->scripts.acquire()); },
            .give = [alone] { alone->redis.ask(alone->scripts.release(*alone->granted)); }};
  });
  return grants.per_second;
}

}  // namespace mortise::bench
