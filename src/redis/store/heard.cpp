// SPDX-License-Identifier: MIT
#include "redis/store/heard.hpp"

#include "base/mutant.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {

Heard::Sense Heard::push(const Push& push) {
  if (is_over(push)) return Sense::over;
  if (is_readable(push)) return Sense::readable;
  keep(push);
  return reading_ ? Sense::unreadable : Sense::too_early;
}

std::optional<Push> Heard::reply(const Reading& reading, std::uint64_t number) {
  // Numbers go with their name from server to server, but not to one that has lost the last ones.
  const bool same = !reading_ || reading_->clock == reading.clock;
  reading_ = reading;
  seen_ = same ? std::max(seen_, number) : number;
  if (!same) concluded_ = 0;
  if (early_ && early_->clock != reading.clock) early_.reset();
  if (early_ && !is_readable(*early_)) return std::nullopt;
  std::optional<Push> early = std::exchange(early_, std::nullopt);
  if (!early || is_over(*early)) return std::nullopt;
  return early;
}

void Heard::conclude(std::uint64_t number) noexcept { concluded_ = std::max(concluded_, number); }

// A push is about the server that sent it. A server that was restarted has another clock, and may
// have lost the last numbers.
bool Heard::is_of_its_server(const Push& push) const noexcept {
  return reading_ &&
         (reading_->clock == push.clock || base::mutant("redis.keep_readings_of_another_server"));
}

// Numbers grow at each grant of the name, even if the server's clock steps back. If the reply knew
// no number, because nothing was granted yet, its time decides.
bool Heard::is_over(const Push& push) const noexcept {
  // The push was held up, an administrator took the lock, and the waiter has asked: it got a reply
  // about a later grant before the push of its own, whose provisional lease has not ended (S8).
  if (base::mutant("redis.believe_a_push_that_is_over") || !is_of_its_server(push)) return false;
  return seen_ != 0 ? push.number <= seen_ : push.granted_at < reading_->at;
}

// In a cluster a replica repeats to its own subscribers what its master publishes, including a
// grant that the master takes back because no client subscribes. And a replica accepts a
// subscription that was meant for the master that it was. A server that has executed a request
// since the client listens there was the master since. If it is replaced, it ends the subscription
// before it repeats anything that its successor publishes.
bool Heard::is_readable(const Push& push) const noexcept {
  return is_of_its_server(push) && reading_->asked >= push.heard_since;
}

// Of two pushes from one server only the newer one can be true. Of pushes from two servers, the one
// of the current server counts. If that server has lost the last numbers, and its clock is behind,
// its numbers are smaller.
void Heard::keep(const Push& push) {
  const bool same = early_ && early_->clock == push.clock;
  const bool newer = same ? early_->number < push.number : push.clock != 0;
  if (!early_ || newer) early_ = push;
}

}  // namespace mortise::redis
