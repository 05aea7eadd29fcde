// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_trials.hpp"

#include "simulation/scene/redis_dead_readers.hpp"
#include "simulation/scene/redis_deaf_waiter.hpp"
#include "simulation/scene/redis_late_words.hpp"
#include "simulation/scene/redis_lost_replies.hpp"
#include "simulation/scene/redis_moved_waiter.hpp"
#include "simulation/scene/redis_queue_behind.hpp"
#include "simulation/scene/redis_refused_waiter.hpp"
#include "simulation/scene/redis_robbed_waiter.hpp"
#include "simulation/scene/redis_told_outcome.hpp"
#include "simulation/scene/redis_tries.hpp"
#include "simulation/scene/redis_twice_granted.hpp"
#include "simulation/scene/redis_unknown_runs.hpp"

#include <chrono>
#include <numeric>

namespace simulation {
namespace {

constexpr std::uint64_t first_stream = 43;
/// With fair turns whoever is told has the lock within a few messages.
constexpr Nanos hand_over = 100ms;
constexpr const char* fair = "";

}  // namespace

template <class Kind, class... More>
void RedisTrials::come(Judge& judge, const std::string& mode, More... more) {
  if (judge.verdict()) return;
  all_.push_back(std::make_unique<Kind>(room_, judge, server_, "redis://10.0.0.1" + mode,
                                        Random::of({seed_, first_stream + all_.size()}), more...));
  all_.back()->come();
}

void RedisTrials::come(Judge& judge) {
  come<RedisDeafWaiter>(judge, mode_, forget_);
  come<RedisLateWords>(judge, mode_);
  come<RedisRefusedWaiter>(judge, fair);
  come<RedisRobbedWaiter>(judge, fair);
  come<RedisTries>(judge, fair);
  come<RedisQueueBehind>(judge, fair, hand_over);
  come<RedisDeadReaders>(judge, fair);
  come<RedisTwiceGranted>(judge, fair);
  come<RedisToldOutcome>(judge, fair);
  come<RedisLostReplies>(judge, fair);
  come<RedisUnknownRuns>(judge, fair);
  // The last one: from then on the server's clock is ahead.
  come<RedisMovedWaiter>(judge, fair);
}

void RedisTrials::runs(const redis::ScriptRun& run) {
  if (!all_.empty()) all_.back()->runs(run);
}

std::uint64_t RedisTrials::requests() const {
  return std::accumulate(all_.begin(), all_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const std::unique_ptr<RedisTrial>& trial) {
                           return sum + trial->requests();
                         });
}

}  // namespace simulation
