// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_administrators.hpp"

#include <mortise/redis.hpp>

#include "support/force.hpp"

#include <chrono>
#include <string_view>

namespace simulation {

std::string RedisAdministrators::take(const std::string& url, const std::string& name,
                                      Random& random) {
  luck_ = Random(random.next());
  const double loses = random.chance(0.8) ? 0.6 : 0;
  const bool two = random.chance(0.3);
  begin(url, name, loses);
  if (two) begin(url, name, loses);
  return (two ? "two administrators take " : "an administrator takes ") + name +
         (loses > 0 ? ", and answers are lost" : "");
}

void RedisAdministrators::begin(const std::string& url, const std::string& name, double loses) {
  Process& administrator = room_.world.process("administrator");
  administrator.clock.offset = std::chrono::hours(1);
  one_shots_[&administrator].loses = loses;
  room_.world.spawn(administrator, [url, name] {
    try {
      mortise::test::force_release(mortise::redis::backend(url), name, patience);
    } catch (const mortise::Error&) {
      // Its own connection suffers like everybody's.
    }
  });
}

void RedisAdministrators::runs(const redis::ScriptRun& run) {
  Connection* const from = room_.network.find(run.connection);
  if (from == nullptr) return;
  const auto found = one_shots_.find(&from->process());
  if (found == one_shots_.end()) return;
  OneShot& one_shot = found->second;
  if (run.script == "redis/force_release" && run.answer.starts_with("released ")) {
    look_at_end(one_shot, run);
  }
  if (!luck_.chance(one_shot.loses)) return;
  room_.world.after(on_its_way, [this, id = run.connection] {
    if (Connection* const connection = room_.network.find(id)) connection->cut(true);
  });
}

// S3: a call ends only holds that it has found, and each of them once, even if a request is
// repeated.
void RedisAdministrators::look_at_end(OneShot& one_shot, const redis::ScriptRun& run) const {
  if (one_shot.ended.insert(std::string(run.arguments[0])).second) return;
  judge->blame("S3", "a release by force has ended a hold twice");
}

}  // namespace simulation
