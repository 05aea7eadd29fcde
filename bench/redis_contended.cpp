// SPDX-License-Identifier: MIT
#include "redis_contended.hpp"

#include <mortise/mortise.hpp>

#include "contention.hpp"
#include "figure.hpp"
#include "raw_redis.hpp"
#include "redis_server.hpp"
#include "remote_handoff.hpp"

#include <hiredis/hiredis.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* name = "bench/redis";
constexpr const char* queue_key = "mortise:{bench/redis}:queue";

RemoteBaton remote_baton(const RedisServer& server) {
  const auto client = std::make_shared<Client>(server.url());
  const auto lock = std::make_shared<Lock>(client->make_lock(name));
  const auto redis = std::make_shared<RawRedis>(server.port());
  client->check(10s);
  return {.baton = {.take = [client, lock] { lock->lock(); },
                    .give = [client, lock] { lock->unlock(); }},
          .other_waits = [redis] {
            return redis->ask({"ZCARD", queue_key})->integer == 1;
          }};
}

double handoff_of(Mode mode, const RedisServer& server) {
  return remote_handoff([&](int) { return remote_baton(server); }, mode);
}

constexpr std::string_view bare_grant =
    "redis.call('set', KEYS[1], ARGV[1]) "
    "redis.call('publish', KEYS[2], ARGV[1]) return 1";

/// @return how often something happened for each of many hand-offs.
double per_handoff(Mode mode, std::uint64_t (*count)(RawRedis&)) {
  const RedisServer server(mode);
  RawRedis redis(server.port());
  const std::uint64_t before = count(redis);
  static_cast<void>(handoff_of(mode, server));
  return static_cast<double>(count(redis) - before) / remote_handoffs;
}

/// The first attempt of a client opens its inbox, without which it cannot join a queue: it would
/// ask once more as soon as it can.
void open_inboxes(RawRedis& redis, std::vector<Client>& clients) {
  for (Client& client : clients) {
    Lock other = client.make_lock("bench/other");
    other.lock();
    other.unlock();
  }
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (redis.info("stats", "pubsub_channels") != std::to_string(clients.size())) {
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("no inbox");
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

double redis_handoff(Mode mode) {
  const RedisServer server(mode);
  return handoff_of(mode, server);
}

double raw_redis_handoff(Mode mode) {
  const RedisServer server(mode);
  return remote_handoff(
      [&](int side) -> RemoteBaton {
        const auto commands = std::make_shared<RawRedis>(server.port());
        const auto inbox = std::make_shared<RawRedis>(server.port());
        const std::string mine = "inbox:" + std::to_string(side);
        const std::string other = "inbox:" + std::to_string(1 - side);
        const std::string sha = commands->text({"SCRIPT", "LOAD", std::string(bare_grant)});
        inbox->ask({"SUBSCRIBE", mine});
        const auto grant = std::make_shared<RawCommand>(
            RawCommand{"EVALSHA", sha, "2", name, other, std::to_string(1 - side)});
        const auto first = std::make_shared<bool>(side == 0);
        return {.baton = {.take =
                              [inbox, first] {
                                if (!std::exchange(*first, false)) inbox->receive();
                              },
                          .give = [commands, grant] { commands->ask(*grant); }},
                .other_waits = [] { return true; }};
      },
      mode);
}

double commands_per_handoff(Mode mode) {
  return per_handoff(mode, [](RawRedis& redis) { return redis.script_calls(); });
}

double pushes_per_handoff(Mode mode) {
  return per_handoff(mode, [](RawRedis& redis) { return redis.calls("publish"); });
}

double redis_threads(Mode mode) {
  const RedisServer server(mode);
  Client client(server.url());
  Lock lock = client.make_lock(name);
  return contend(8,
                 [&](int) -> Baton {
                   return {.take = [&] { lock.lock(); }, .give = [&] { lock.unlock(); }};
                 })
      .per_second;
}

Waiting seven_waiting(Mode mode) {
  constexpr int waiters = 7;
  const RedisServer server(mode);
  RawRedis redis(server.port());
  std::vector<Client> clients;
  std::vector<Lock> locks;
  locks.reserve(waiters + 1);
  std::vector<Baton> batons;
  for (int i = 0; i <= waiters; ++i) {
    clients.emplace_back(server.url());
    locks.push_back(clients.back().make_lock(name));
    Lock& lock = locks.back();
    batons.push_back({.take = [&lock] { lock.lock(); }, .give = [&lock] { lock.unlock(); }});
  }
  std::int64_t began = 0;
  std::int64_t ended = 0;
  std::uint64_t calls = 0;
  const Baton holder{.take =
                         [&] {
                           locks.front().lock();
                           calls = redis.script_calls();
                           began = now_ns();
                         },
                     .give =
                         [&] {
                           ended = now_ns();
                           calls = redis.script_calls() - calls;
                           locks.front().unlock();
                         }};
  batons.erase(batons.begin());
  open_inboxes(redis, clients);
  const double percent = cost_of_waiting(holder, batons, 3s);
  // To join the queue is one command each, and no waiting.
  const double seconds = static_cast<double>(ended - began) * 1e-9;
  return {.percent = percent,
          .commands = (static_cast<double>(calls) - waiters) / waiters / seconds};
}

}  // namespace mortise::bench
