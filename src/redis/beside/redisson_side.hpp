// SPDX-License-Identifier: MIT
// Locks that Redisson's clients take as well (`interop=redisson`).
#pragma once

#include <mortise/backend.hpp>

#include "redis/connection/server.hpp"
#include "redis/store/attempts.hpp"
#include "redis/store/hearing.hpp"
#include "remote/timer.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace mortise::redis {

/// Redisson publishes each release on a channel to all clients that wait. So the first of our queue
/// subscribes to the channel, and asks at each message. `forceUnlock()` deletes Redisson's key, and
/// publishes that on the same channel. So a client that holds a lock for long subscribes as well,
/// and looks at its hold at each message, and once when it begins to listen.
/// @thread_safety every member may be called concurrently.
class RedissonSide {
 public:
  struct Parts {
    Host& host;
    Server& server;
    Attempts& attempts;
    std::function<void(const std::shared_ptr<Acquisition>&)> ask;
    std::function<void(std::shared_ptr<Inspection>)> inspect;
  };
  /// @param parts outlive it
  explicit RedissonSide(Parts parts);

  /// It waits in the queue. @param first no other attempt of ours is in front of it
  void queued(const Acquisition& operation, bool first);
  /// @return true if the next look is earlier than before: a thread that polls has to know
  [[nodiscard]] bool began_to_hold(const Acquisition::Request& request, std::uint64_t number);

  /// A message came on that channel, or its subscription began.
  void heard_of(const std::string& channel);
  /// The channels that the client hears, and the reasons.
  [[nodiscard]] Hearing& hearing() noexcept { return hearing_; }

  /// @return when `look()` has to be called; `never` = there is no hold.
  [[nodiscard]] Instant due() const noexcept { return looks_.next(); }
  void look(Instant now);

 private:
  [[nodiscard]] bool subscribe(bool begins, const std::string& channel);
  void look_at(const HoldId& hold, Instant now);
  void look_for_holder(const std::string& channel);

  const Parts parts_;
  Hearing hearing_;
  std::mutex mutex_;
  remote::Timer<HoldId> looks_;  // at holds, whether they stand
};

}  // namespace mortise::redis
