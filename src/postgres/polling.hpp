// SPDX-License-Identifier: MIT
// One alarm for all moments at which a client has to do something by itself: calls and looks that
// are due, and connections that have become idle or stuck.
#pragma once

#include <mortise/backend.hpp>

#include "postgres/parts.hpp"
#include "remote/name_watch.hpp"
#include "remote/polling.hpp"
#include "remote/timer.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace mortise::postgres {

/// @thread_safety every member may be called concurrently
class Polling final : public remote::Polling {
 public:
  /// @param parts outlive it
  /// @param moved the name of a server leads to another one
  Polling(Parts& parts, std::function<void()> moved)
      : remote::Polling(parts.host),
        parts_(parts),
        names_(parts.host, parts.where(), [moved = std::move(moved)](const Failure&) { moved(); }) {
  }

  /// Looks, after a while, for connections that have become idle or stuck by then.
  void tidy_later();

  /// Watches the names of servers.
  [[nodiscard]] remote::NameWatch& names() noexcept { return names_; }

 private:
  // Source
  [[nodiscard]] Instant due() const noexcept override;
  void ready(short events, Instant now) override;
  // remote::Polling
  void attach_all() override { parts_.host.attach(names_); }
  void detach_all() noexcept override;
  void hurry() override { remote::hurry(*parts_.exchange, parts_.attempts, parts_.now()); }
  [[nodiscard]] bool is_any_pending(Instant in_time) override;
  void add_sources(std::vector<Source*>& sources) override;

  void tidy();
  void look_after_stuck();

  Parts& parts_;
  remote::NameWatch names_;
  remote::Moment tidy_time_;
};

}  // namespace mortise::postgres
