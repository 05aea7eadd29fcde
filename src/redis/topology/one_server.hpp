// SPDX-License-Identifier: MIT
// A client of one server, whose address the user or a sentinel gives.
#pragma once

#include "redis/topology/topology.hpp"

#include <cstddef>
#include <memory>
#include <string_view>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class OneServer final : public Topology {
 public:
  /// @param parts outlive it
  OneServer(Parts& parts, std::unique_ptr<Server> server);

  [[nodiscard]] Server& server_of(std::string_view /*name*/) const noexcept override {
    return *server_;
  }
  [[nodiscard]] Server& server_of(const Call& /*call*/) const noexcept override { return *server_; }
  [[nodiscard]] Server* nth(std::size_t number) const noexcept override {
    return number == 0 ? server_.get() : nullptr;
  }
  void will_ask(const Acquisition::Request& request) override;
  // Redisson's clients change the queue, and each waiter has to see that.
  [[nodiscard]] bool asks_together() const noexcept override {
    return parts_.redisson == nullptr && server_->inbox().state().is_up();
  }
  [[nodiscard]] bool may_wait(const Server& server) const noexcept override {
    return server.inbox().state().is_up();
  }
  void listens(Server& server) override;
  void list(const Call& call) override;
  [[nodiscard]] std::string_view cursor_at(const Server& /*server*/,
                                           std::string_view cursor) const override {
    return cursor;
  }
  void answered_page(Server& server, const Call& call, NamePage page) override;

 private:
  Parts& parts_;
  const std::unique_ptr<Server> server_;
};

}  // namespace mortise::redis
