// SPDX-License-Identifier: MIT
#include "simulation/scene/redlock_twins.hpp"

#include <algorithm>

namespace simulation {
namespace {

constexpr std::uint64_t birth_stream = 21;

/// What is on its way to be connected when it ends shall have come about.
constexpr Nanos to_connect = 10ms;
/// What was found is told for two seconds.
constexpr Nanos news = 2500ms;
/// ... and found anew until each address has been connected to again.
constexpr Nanos found_again = 4s;

}  // namespace

void RedlockTwins::cut_all(const Process& client, const Host& host) {
  for (const auto& [id, connection] : room_.network.connections()) {
    if (&connection->process() != &client || !connection->held()) continue;
    if (&connection->host() == &host) connection->cut(true);
  }
}

std::string RedlockTwins::mislead(const Process& client, Random& random, Nanos length) {
  const auto& hosts = room_.network.hosts();
  const Nanos now = room_.world.now();
  const auto found = misled_.find(&client);
  if (found != misled_.end() && now < found->second.until) return "nobody is misled";
  Host& host = *hosts[random.below(hosts.size())];
  Host& other = *hosts[(host.number() + 1 + random.below(hosts.size() - 1)) % hosts.size()];
  // Where its connections stand on, it is the client that has to find out.
  const bool cut = !aims_ || random.chance(0.75);
  const bool clear = cut && (found == misled_.end() || found->second.clear);
  misled_[&client] = {.until = now + length + to_connect, .clear = clear};
  room_.network.lead_elsewhere(client, host, &other);
  cut_all(client, host);
  room_.world.after(length, [this, &client, &host, &other, cut] {
    room_.network.lead_elsewhere(client, host, nullptr);
    if (!cut) return;
    room_.world.after(to_connect, [this, &client, &other] {
      if (!client.dead()) cut_all(client, other);
    });
  });
  return "the address of " + host.name() + " leads " + client.name() + " to " + other.name() +
         " for " + std::to_string(length.count()) + " ns" + (cut ? "" : ", whatever is connected");
}

void RedlockTwins::born(const Process& client) {
  if (!aims_ || room_.world.now() >= storm_) return;
  Random random = Random::of({seed_, birth_stream, ++births_});
  if (!random.chance(0.5)) return;
  const Nanos length = std::min(random.between(200ms, 2s), storm_ - room_.world.now());
  room_.world.note("world", mislead(client, random, length));
}

std::optional<Verdict> RedlockTwins::ended(const Process& client, Nanos asked,
                                           const std::error_code& error) {
  const auto found = misled_.find(&client);
  if (!aims_ || found == misled_.end()) return std::nullopt;
  Misled& its = found->second;
  const Nanos now = room_.world.now();
  if (error != mortise::Errc::misconfigured) {
    if (error != mortise::Errc::unavailable) its.told_since = never;
    return std::nullopt;
  }
  if (now < its.until) return std::nullopt;
  if (its.told_since == never) its.told_since = now;
  if (its.clear && asked > its.until + news) {
    return Verdict{"L7", client.name() + ": told of two addresses of one server, which they have " +
                             "not been for " + std::to_string((asked - its.until).count()) + " ns"};
  }
  if (now - its.told_since > found_again) {
    return Verdict{"L7", client.name() + ": told again and again of two addresses of one server, " +
                             "although each has led to its own throughout"};
  }
  return std::nullopt;
}

}  // namespace simulation
