// SPDX-License-Identifier: MIT
#include "simulation/redis/server_state.hpp"

#include "simulation/redis/resp_reply.hpp"
#include "simulation/redis/script_engine.hpp"

namespace simulation::redis {

ServerState::ServerState(Site& its_site, Options its_options)
    : site(its_site),
      options(std::move(its_options)),
      scripts(std::make_unique<ScriptEngine>(*this)) {}

ServerState::~ServerState() = default;

std::int64_t ServerState::now_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(site.wall()).count();
}

std::size_t ServerState::publish(std::string_view channel, std::string_view message) {
  return deliver(subscriptions, "message", channel, message);
}

std::size_t ServerState::publish_to_shard(std::string_view channel, std::string_view message) {
  return deliver(shards, "smessage", channel, message);
}

std::size_t ServerState::deliver(const Subscriptions& to, std::string_view kind,
                                 std::string_view channel, std::string_view message) {
  if (on_message) on_message(channel, message);
  const std::vector<ConnectionId>& listeners = to.listeners(channel);
  if (listeners.empty()) return 0;
  RespReply push;
  push.array(3);
  push.bulk(kind);
  push.bulk(channel);
  push.bulk(message);
  for (const ConnectionId listener : listeners) site.send(listener, push.bytes());
  counters.published += listeners.size();
  return listeners.size();
}

}  // namespace simulation::redis
