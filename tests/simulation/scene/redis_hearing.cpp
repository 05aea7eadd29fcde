// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_hearing.hpp"

#include "simulation/redis/numbers.hpp"
#include "simulation/scene/redis_request.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace simulation {
namespace {

/// In which a client that nothing stops has read what came: pushes that nobody awaits lie for a
/// millisecond.
constexpr Nanos to_read = 20ms;

constexpr std::string_view lock_begins = "mortise:{name/";

/// @return the next word of a text, which goes on behind it
std::string_view take_word(std::string_view& text) {
  const std::size_t size = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return word;
}

}  // namespace

// "queued <now> <left> <first> <number> ..."
void RedisHearing::runs(const redis::ScriptRun& run) {
  const auto request = RedisRequest::in(run);
  if (run.script != "redis/acquire" || !request || !request->queued()) return;
  std::string_view words = request->answer;
  for (int i = 0; i < 4; ++i) take_word(words);
  const std::int64_t number = redis::parse_integer(take_word(words)).value_or(0);
  if (number == 0) return;
  listen(run.connection, run.keys[0], static_cast<std::uint64_t>(number));
}

// "T <attempt> <number> <key>", of a reader "S ..."
void RedisHearing::told(std::string_view channel, std::string_view message) {
  if (!message.starts_with("T ") && !message.starts_with("S ")) return;
  for (int i = 0; i < 2; ++i) take_word(message);
  const auto number = redis::parse_integer(take_word(message));
  if (!number || message.empty()) return;
  for (const ConnectionId listener : server_.listeners(channel)) {
    listen(listener, message, static_cast<std::uint64_t>(*number));
  }
}

void RedisHearing::listen(ConnectionId connection, std::string_view key, std::uint64_t number) {
  if (!key.starts_with(lock_begins)) return;
  const std::size_t name = std::strtoul(key.substr(lock_begins.size()).data(), nullptr, 10);
  // Once the server has sent it.
  room_.world.after(0ns, [this, connection, name, number] {
    Connection* const to = room_.network.find(connection);
    if (to == nullptr || !to->held()) return;
    to->on_arrival([this, connection, name, number] { comes(connection, name, number); });
  });
}

void RedisHearing::comes(ConnectionId connection, std::size_t name, std::uint64_t number) {
  const Connection* const to = room_.network.find(connection);
  if (to == nullptr) return;
  const Process& who = to->process();
  const Nanos stolen = room_.world.stolen(who);
  room_.world.after(to_read, [this, connection, &who, stolen, name, number] {
    const Connection* const still = room_.network.find(connection);
    if (still == nullptr || !still->held() || who.dead()) return;
    if (hears && room_.world.stolen(who) == stolen) hears(name, who, number);
  });
}

}  // namespace simulation
