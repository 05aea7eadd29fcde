// SPDX-License-Identifier: MIT
// What the library polls for a client: its connections, and one alarm for all moments at which the
// client has to do something by itself.
#pragma once

#include <mortise/backend.hpp>

#include "redis/parts.hpp"

#include <atomic>
#include <mutex>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class Polling final : private Source {
 public:
  /// @param parts outlive it
  explicit Polling(Parts& parts) : parts_(parts) {}

  /// With the first request. May throw: the next request tries again.
  void begin();
  void attach(Server& server);
  void detach(Server& server) noexcept;
  /// The inbox of a server is made with the first attempt, which names it.
  void open_inbox(Server& server, const AttemptId& of_client);
  /// The alarm is due earlier than before: a thread that sleeps until then has to know.
  void sooner() { parts_.host.changed(*this); }

  [[nodiscard]] bool is_closed() const noexcept { return is_closed_.load(); }
  /// No connection is opened from now on. @return false: it was closed before
  [[nodiscard]] bool close() noexcept { return !is_closed_.exchange(true); }
  /// After `close()`: ends the alarm.
  void end() noexcept;
  /// For close(), when no thread polls any more. @param until by the clock of the client
  void poll_once(Instant until);

 private:
  // Source
  [[nodiscard]] Instant due() const noexcept override;
  void ready(short events, Instant now) override;

  Parts& parts_;
  std::mutex mutex_;  // while connections are attached or made
  std::atomic<bool> has_begun_{false};
  std::atomic<bool> is_closed_{false};
};

}  // namespace mortise::redis
