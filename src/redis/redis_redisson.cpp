// SPDX-License-Identifier: MIT
// Beside Redisson: parts of RedisBackend. Redisson tells a release on a channel to all who wait, so
// the first of our queue listens there, and asks when anything is said. `forceUnlock()` deletes
// Redisson's key, and says so on the same channel. So whoever holds for long listens, too, and
// looks at its hold then, and once when it begins to listen.
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "core/figures.hpp"
#include "redis/redis_backend.hpp"

#include <exception>
#include <functional>
#include <new>
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

// What is noted and was not said would stay so: the server would never tell, or each release would
// keep the lock for a waiter that is none. The next connection begins with what is wanted by then.
bool RedisBackend::subscribe(bool begins, const std::string& channel) {
  if (!server_->has_inbox()) return false;
  try {
    std::string bytes;
    begins ? requests_.subscribe(bytes, channel) : requests_.unsubscribe(bytes, channel);
    return server_->say_to_inbox(bytes);
  } catch (const std::bad_alloc&) {
    server_->break_inbox({Errc::exhausted, "no memory"});
    return false;
  }
}

// Who stands behind is told by the first; so is whoever was the first and lost its place in
// silence.
void RedisBackend::listen_as(const std::string& name, bool first) {
  if (first || base::mutant("redis.all_hear_redissons_channel")) {
    redisson_->wait(name);
  } else {
    redisson_->stop_waiting(name);
  }
}

void RedisBackend::heard_of(const std::string& channel) {
  if (!redisson_) return;
  look_for_holder(channel);
  const std::optional<std::string> name = redisson_->waited_for(channel);
  if (!name) return;
  bool anybody = false;
  for (const auto& operation : attempts_.undecided()) {
    if (operation->request().name != *name) continue;
    anybody = true;
    if (operation->request().wait) ask(operation);  // a try is asked once: see connected()
  }
  if (!anybody) redisson_->stop_waiting(*name);
}

void RedisBackend::begins_to_hold(const Acquisition::Request& request, std::uint64_t number) {
  HoldId hold{.name = request.name, .attempt = request.attempt, .number = number};
  if (long_holds_.began(std::move(hold), clock_->now())) host_->changed(alarm_);
}

// Of the end of a hold nobody tells this but the answer to a release: what does not stand any more
// is found here.
void RedisBackend::look_at_long_holds(Instant now) {
  base::OneByOne each;
  for (const HoldId& hold : long_holds_.due(now)) each([&] { look_at_long_hold(hold, now); });
  each.finish();
}

void RedisBackend::look_at_long_hold(const HoldId& hold, Instant now) {
  if (!attempts_.stands(hold, now)) return redisson_->stop_holding(hold);
  long_holds_.again(hold, now);  // first: whatever fails below is tried then
  // Again each time: the inbox may have broken since.
  if (server_->listens()) redisson_->hold(hold);
}

void RedisBackend::look_for_holder(const std::string& channel) {
  std::optional<HoldId> hold = redisson_ ? redisson_->held(channel) : std::nullopt;
  if (!hold) return;
  inspect(std::make_shared<LookAtHold>(*std::move(hold), [this](const HoldId& gone) {
    attempts_.end(gone.attempt, gone.number, clock_->now());
    redisson_->stop_holding(gone);
    host_->hold_lost(
        gone, {Errc::lost, gone.name + ": released by force, as by Redisson's forceUnlock()"});
  }));
}

}  // namespace mortise::redis
