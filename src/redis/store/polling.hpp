// SPDX-License-Identifier: MIT
// What the library polls for a client: its connections, and one alarm for all moments at which the
// client has to do something by itself.
#pragma once

#include <mortise/backend.hpp>

#include "redis/store/parts.hpp"
#include "remote/polling.hpp"

#include <vector>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class Polling final : public remote::Polling {
 public:
  /// @param parts outlive it
  explicit Polling(Parts& parts) : remote::Polling(parts.host), parts_(parts) {}

  void attach(Server& server);
  void detach(Server& server) noexcept;
  /// The inbox of a server is made with the first attempt, which names it.
  void open_inbox(Server& server, const AttemptId& of_client);

 private:
  // Source
  [[nodiscard]] Instant due() const noexcept override;
  void ready(short events, Instant now) override;
  // remote::Polling
  void attach_all() override;
  void hurry() override { remote::hurry(*parts_.exchange, parts_.attempts, parts_.now()); }
  [[nodiscard]] bool is_any_pending(Instant in_time) override {
    return remote::is_any_pending(*parts_.exchange, parts_.attempts, parts_.now(), in_time);
  }
  void add_sources(std::vector<Source*>& sources) override;

  Parts& parts_;
};

}  // namespace mortise::redis
