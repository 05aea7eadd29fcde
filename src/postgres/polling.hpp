// SPDX-License-Identifier: MIT
// One alarm for all moments at which a client has to do something by itself: calls and looks that
// are due, and connections that have become idle or stuck.
#pragma once

#include <mortise/backend.hpp>

#include "postgres/parts.hpp"
#include "remote/name_watch.hpp"
#include "remote/timer.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

namespace mortise::postgres {

/// @thread_safety every member may be called concurrently
class Polling final : private Source {
 public:
  /// @param parts outlive it
  /// @param moved the name of a server leads to another one
  Polling(Parts& parts, std::function<void()> moved)
      : parts_(parts),
        names_(parts.host, parts.where(), [moved = std::move(moved)](const Failure&) { moved(); }) {
  }

  /// With the first request. May throw: the next request tries again.
  void begin();
  /// The alarm is due earlier than before: a thread that sleeps until then has to know.
  void sooner() { parts_.host.changed(*this); }
  /// Looks, after a while, for connections that have become idle or stuck by then.
  void tidy_later();

  /// Watches the names of servers.
  [[nodiscard]] remote::NameWatch& names() noexcept { return names_; }
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

  void tidy();
  void look_after_stuck();

  Parts& parts_;
  remote::NameWatch names_;
  std::mutex mutex_;  // while it is attached
  std::atomic<bool> has_begun_{false};
  std::atomic<bool> is_closed_{false};
  remote::Moment tidy_time_;
};

}  // namespace mortise::postgres
