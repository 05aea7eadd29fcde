// SPDX-License-Identifier: MIT
#include "redis/beside/redisson_side.hpp"

#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "core/figures.hpp"
#include "redis/store/requests.hpp"

#include <chrono>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

namespace mortise::redis {
namespace {

// Nearly all holds are over by then.
constexpr std::chrono::milliseconds long_from{50};
// A client learns after that time at most that its hold has ended otherwise than by its release.
constexpr std::chrono::milliseconds between_looks{900};
// Holds of the same tenth of a second are looked at together: thousands of holds would wake a
// thread thousands of times per second.
using Tenths = std::chrono::duration<Instant::rep, std::deci>;

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

RedissonSide::RedissonSide(Parts parts)
    : parts_(std::move(parts)), hearing_([this](bool begins, const std::string& channel) {
        return subscribe(begins, channel);
      }) {}

// If a subscription that is noted could not be sent, the server would never publish to this client,
// or each release would keep the lock for a waiter that has gone. The next connection begins with
// what is wanted by then.
bool RedissonSide::subscribe(bool begins, const std::string& channel) {
  return parts_.server.inbox().say([&](std::string& bytes) {
    begins ? Requests::subscribe(bytes, channel) : Requests::unsubscribe(bytes, channel);
  });
}

// The release by the first waiter reaches those behind it, including one that was the first and
// lost its place by its silence.
void RedissonSide::queued(const Acquisition& operation, bool first) {
  const std::string& name = operation.request().name;
  if (first || base::mutant("redis.all_hear_redissons_channel")) {
    hearing_.wait(name);
  } else {
    hearing_.stop_waiting(name);
  }
  // This thread stood still, and a message granted the lock in the meantime, and ended the wait.
  if (operation.done()) hearing_.stop_waiting(name);
}

void RedissonSide::heard_of(const std::string& channel) {
  look_for_holder(channel);
  const std::optional<std::string> name = hearing_.waited_for(channel);
  if (!name) return;
  bool anybody = false;
  for (const auto& operation : parts_.attempts.undecided()) {
    if (operation->request().name != *name) continue;
    anybody = true;
    if (operation->request().wait) parts_.ask(operation);  // a try is asked for once
  }
  if (!anybody) hearing_.stop_waiting(*name);
}

bool RedissonSide::began_to_hold(const Acquisition::Request& request, std::uint64_t number) {
  HoldId hold{.name = request.name, .attempt = request.attempt, .number = number};
  const std::lock_guard lock(mutex_);
  return looks_.is_next(looks_.add(parts_.host.clock()->now() + long_from, std::move(hold)));
}

// Only the answer to a release reports the end of a hold here. Holds that ended otherwise are found
// by this.
void RedissonSide::look(Instant now) {
  if (looks_.next() > now) return;
  std::vector<HoldId> due;
  {
    const std::lock_guard lock(mutex_);
    due = looks_.take(now);
  }
  base::OneByOne each;
  for (const HoldId& hold : due) each([&] { look_at(hold, now); });
  each.finish();
}

void RedissonSide::look_at(const HoldId& hold, Instant now) {
  if (!parts_.attempts.stands(hold, now)) return hearing_.stop_holding(hold);
  {
    const std::lock_guard lock(mutex_);  // first: whatever fails below is tried then
    looks_.add(std::chrono::ceil<Tenths>(now + between_looks), hold);
  }
  // Again each time: the inbox may have broken since.
  if (parts_.server.inbox().state().is_up()) hearing_.hold(hold);
}

void RedissonSide::look_for_holder(const std::string& channel) {
  std::optional<HoldId> hold = hearing_.held(channel);
  if (!hold) return;
  parts_.inspect(std::make_shared<LookAtHold>(*std::move(hold), [this](const HoldId& gone) {
    parts_.attempts.end(gone.attempt, gone.number, parts_.host.clock()->now());
    hearing_.stop_holding(gone);
    parts_.host.hold_lost(
        gone, {Errc::lost, gone.name + ": released by force, as by Redisson's forceUnlock()"});
  }));
}

}  // namespace mortise::redis
