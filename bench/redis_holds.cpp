// SPDX-License-Identifier: MIT
#include "redis_holds.hpp"

#include <mortise/mortise.hpp>

#include "figure.hpp"
#include "raw_redis.hpp"
#include "redis_server.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

constexpr int count = 100'000;
constexpr int shorter = 3;      // than the default lease
constexpr int lease_times = 3;  // that they are held for

std::string name_of(std::size_t number) { return "orders/" + std::to_string(number); }

std::vector<Lock> hold_many(Client& client, const LockOptions& options) {
  std::vector<Lock> locks;
  locks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    locks.push_back(client.make_lock(name_of(i), options));
    locks.back().lock();
  }
  return locks;
}

double memory_in_use(RawRedis& redis) { return std::stod(redis.info("memory", "used_memory")); }

std::vector<std::uint64_t> tokens_of(const std::vector<Lock>& locks) {
  std::vector<std::uint64_t> tokens;
  tokens.reserve(locks.size());
  for (const Lock& lock : locks) tokens.push_back(lock.token().value());
  return tokens;
}

void look_for_losses(const std::vector<Lock>& locks, const std::vector<std::uint64_t>& tokens) {
  int lost = 0;
  for (std::size_t i = 0; i < locks.size(); ++i) {
    const bool stands = locks[i].valid_for() > 0ns && !locks[i].lost().stop_requested() &&
                        locks[i].token().value() == tokens[i];
    if (!stands) ++lost;
  }
  if (lost > 0) throw std::runtime_error(std::to_string(lost) + " holds were lost");
}

/// @throws std::runtime_error where the server counts one of them as free, or as somebody else's:
/// asked by another client, since the holder's own could be mistaken.
void ask_server(const RedisServer& server, const std::vector<std::uint64_t>& tokens) {
  Client other(server.url());
  int lost = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::optional<Holder> holder = other.make_lock(name_of(i)).holder();
    if (!holder || holder->token.value() != tokens[i]) ++lost;
  }
  if (lost > 0) throw std::runtime_error(std::to_string(lost) + " holds are not the server's");
}

}  // namespace

double client_memory_of_a_hold(Mode mode) {
  const RedisServer server(mode);
  Client client(server.url());
  client.check(10s);
  const double before = heap_in_use();
  const std::vector<Lock> locks = hold_many(client, {});
  return (heap_in_use() - before) / count;
}

double server_memory_of_a_hold(Mode mode) {
  const RedisServer server(mode);
  Client client(server.url());
  client.check(10s);
  RawRedis redis(server.port());
  const double before = memory_in_use(redis);
  const std::vector<Lock> locks = hold_many(client, {});
  return (memory_in_use(redis) - before) / count;
}

double cpu_of_renewing(Mode mode) {
  const RedisServer server(mode);
  Client client(server.url());
  const LockOptions options{.lease = LockOptions().lease / shorter};
  const std::vector<Lock> locks = hold_many(client, options);
  const std::vector<std::uint64_t> tokens = tokens_of(locks);
  const double percent = cpu_percent(options.lease * lease_times);
  look_for_losses(locks, tokens);
  ask_server(server, tokens);
  return percent / shorter;
}

}  // namespace mortise::bench
