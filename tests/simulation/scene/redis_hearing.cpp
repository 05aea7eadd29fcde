// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_hearing.hpp"

#include "simulation/redis/numbers.hpp"

#include <cstdlib>
#include <sstream>
#include <string>

namespace simulation {
namespace {

using namespace std::chrono_literals;

/// In which a client that nothing stops has read what came: pushes that nobody awaits lie for a
/// millisecond.
constexpr Nanos to_read = 20ms;

constexpr std::string_view lock_begins = "mortise:{name/";

}  // namespace

// "Q <now> <left> <ahead> <number> ...": a sign in front of the number says that a stranger has it.
void RedisHearing::runs(const redis::ScriptRun& run) {
  if (run.keys.empty() || run.arguments.size() != 5 || !run.answer.starts_with("Q ")) return;
  std::istringstream words{std::string(run.answer)};
  std::string letter;
  std::int64_t now = 0;
  std::int64_t left = 0;
  std::int64_t ahead = 0;
  std::int64_t number = 0;
  if (!(words >> letter >> now >> left >> ahead >> number) || number == 0) return;
  listen(run.connection, run.keys[0], static_cast<std::uint64_t>(std::llabs(number)));
}

// "T <attempt> <number> <key>"
void RedisHearing::told(std::string_view channel, std::string_view message) {
  if (!message.starts_with("T ")) return;
  std::istringstream words{std::string(message)};
  std::string letter;
  std::string attempt;
  std::string key;
  std::uint64_t number = 0;
  if (!(words >> letter >> attempt >> number >> key)) return;
  for (const ConnectionId listener : server_.listeners(channel)) listen(listener, key, number);
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
