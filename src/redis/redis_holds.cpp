// SPDX-License-Identifier: MIT
// What a holder learns of Redisson: parts of RedisBackend. `forceUnlock()` deletes Redisson's key,
// and says so on the channel on which releases are told. So whoever holds for long listens there,
// and looks at its hold when anything is said, and once when it begins to listen.
#include "core/figures.hpp"
#include "redis/redis_backend.hpp"

#include <exception>
#include <functional>
#include <utility>

namespace mortise::redis {
namespace {

/// Asks whether a hold stands, and says so if it does not.
class LookAtHold final : public Inspection {
 public:
  LookAtHold(HoldId hold, std::function<void(const HoldId&)> gone)
      : Inspection(hold.name), hold_(std::move(hold)), gone_(std::move(gone)) {}

 private:
  void finished() noexcept override {
    if (failure()) return;
    if (holder() && holder()->token.value() / core::tokens_in_a_grant == hold_.number) return;
    try {
      gone_(hold_);
    } catch (const std::exception&) {
      // Out of memory: the next renewal tells.
    }
  }

  const HoldId hold_;
  const std::function<void(const HoldId&)> gone_;
};

}  // namespace

void RedisBackend::holds(const Acquisition::Request& request, std::uint64_t number) {
  if (settings_.queue_mode != QueueMode::redisson) return;
  HoldId hold{.name = request.name, .attempt = request.attempt, .number = number};
  if (long_holds_.began(std::move(hold), clock_->now())) host_->changed(alarm_);
}

// Of the end of a hold nobody tells this but the answer to a release: what does not stand any more
// is found here.
void RedisBackend::look_at_long_holds(Instant now) {
  for (HoldId& hold : long_holds_.due(now)) {
    if (!attempts_.stands(hold, now)) {
      stop_listening_for(hold);
      continue;
    }
    // Again each time: the inbox may have broken since.
    listen_for(hold);
    long_holds_.again(std::move(hold), now);
  }
}

void RedisBackend::listen_for(const HoldId& hold) {
  if (!inbox_up_.load()) return;
  hear(hold.name, [&](Hearing& hearing) { hearing.hold = hold; });
}

void RedisBackend::stop_listening_for(const HoldId& hold) {
  if (settings_.queue_mode != QueueMode::redisson) return;
  hear(hold.name, [&](Hearing& hearing) {
    if (hearing.hold && hearing.hold->attempt == hold.attempt &&
        hearing.hold->number == hold.number) {
      hearing.hold.reset();
    }
  });
}

void RedisBackend::look_for_holder(const std::string& channel) {
  std::optional<HoldId> hold;
  {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find(channel);
    if (found != channels_.end()) hold = found->second.hold;
  }
  if (!hold) return;
  inspect(std::make_shared<LookAtHold>(*std::move(hold), [this](const HoldId& gone) {
    attempts_.gone(gone, clock_->now());
    stop_listening_for(gone);
    host_->hold_lost(gone,
                     {Errc::lost, gone.name + ": taken away, as by Redisson's forceUnlock()"});
  }));
}

}  // namespace mortise::redis
