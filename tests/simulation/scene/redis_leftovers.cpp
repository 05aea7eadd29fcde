// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_leftovers.hpp"

#include "simulation/scene/redis_key.hpp"

#include <variant>

namespace simulation {
namespace {

// @return which living client listens to Redisson's channel of a name; empty = none
std::string listener_of(Room& room, redis::RedisModel& server, const std::string& name) {
  for (const ConnectionId id : server.listeners("redisson_lock__channel:{" + name + "}")) {
    const Connection* const connection = room.network.find(id);
    if (connection == nullptr || !connection->held()) continue;
    const Process& who = connection->process();
    if (!who.dead() && who.name().starts_with("client")) return who.name();
  }
  return {};
}

std::string fields_of(redis::RedisModel& server, const std::string& key) {
  std::string text;
  const redis::Value* const value = server.value(key);
  const auto* const hash = value == nullptr ? nullptr : std::get_if<redis::HashValue>(&value->data);
  if (hash == nullptr) return text;
  for (const auto& field : hash->fields()) text += " [" + field.first + "=" + field.second + "]";
  return text;
}

}  // namespace

std::string redis_leftovers(Room& room, redis::RedisModel& server,
                            const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string key = key_of(name);
    constexpr std::size_t of_a_free_lock = 330;
    if (const std::size_t bytes = server.bytes_of(key); bytes > of_a_free_lock) {
      return name + " takes " + std::to_string(bytes) + " bytes: " + server.look(key) +
             fields_of(server, key);
    }
    if (const std::string who = listener_of(room, server, name); !who.empty()) {
      return who + " hears Redisson's channel of " + name + ", and does not wait";
    }
  }
  return {};
}

}  // namespace simulation
