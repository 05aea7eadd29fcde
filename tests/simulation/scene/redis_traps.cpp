// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_traps.hpp"

#include <algorithm>

namespace simulation {

std::string RedisTraps::set(What what, const std::string& key, Random& random, Nanos length) {
  luck_ = Random(random.next());
  switch (what) {
    case What::deaf_successor: ++deaf_; return "the next successor hears nothing";
    case What::crowd: return gather(key, random, length);
  }
  return {};
}

void RedisTraps::told(std::string_view channel, std::string_view message) {
  if (deaf_ == 0 || !message.starts_with("G ")) return;
  const auto& listeners = server_.listeners(channel);
  Connection* const inbox = listeners.empty() ? nullptr : room_.network.find(listeners.back());
  if (inbox == nullptr || !inbox->held() || inbox->process().dead()) return;
  deafen(*inbox);
}

// Its provisional lease lapses. What it is granted next it learns by asking, and holds it when the
// first message comes.
void RedisTraps::deafen(Connection& inbox) {
  const Nanos now = room_.world.now();
  const Nanos silent =
      std::min(lease_, longest_provisional_lease) * 1002 / 1000 + luck_.spread(1ms, 200ms);
  const Nanos least = now + silent + 300ms;
  if (least > end_) return;
  --deaf_;
  const Nanos until = luck_.between(least, std::min(end_, least + 4s));
  host_.note(inbox.process().name() + " hears nothing of the grant that it is pushed");
  inbox.stall(Connection::Way::down, until);
  room_.network.part(inbox.process(), host_, now + silent);
  if (keep) keep(inbox.process(), until + 30ms);
}

// They come while it is held, and leave before they count as silent; who came meanwhile stands
// behind the places that they have left.
std::string RedisTraps::gather(const std::string& key, Random& random, Nanos length) {
  const redis::LockSeen seen = server_.lock(key);
  const auto wall = std::chrono::duration_cast<std::chrono::microseconds>(host_.wall());
  if (!seen.held || seen.ends - wall.count() < 1'000 || !host_.up()) return "nobody comes";
  if (host_.paused_until() > room_.world.now()) return "nobody comes";
  // Now and then more than one script looks at; and one of them dies, and keeps its place for now.
  const std::uint64_t many = random.chance(0.3) ? 1'100 + random.below(400) : 70 + random.below(60);
  const bool dies = random.chance(0.5);
  std::vector<std::string> attempts = crowd_.queue(key, many, lease_);
  const Nanos stay = random.spread(1ms, std::max<Nanos>(2ms, std::min<Nanos>(length, 2s)));
  if (dies) attempts.erase(attempts.begin());
  room_.world.after(stay, [this, key, attempts] {
    if (host_.up()) crowd_.leave(key, attempts);
  });
  return std::to_string(many) + " others wait for " + std::to_string(stay.count()) + " ns";
}

}  // namespace simulation
