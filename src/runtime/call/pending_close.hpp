// SPDX-License-Identifier: MIT
// One call of `Client::close_async()`: closes on a thread of its own, or by the steps of a loop.
#pragma once

#include "runtime/call/pending_call.hpp"

#include <memory>
#include <utility>

namespace mortise::runtime {

class PendingClose final : public PendingCall {
 public:
  explicit PendingClose(std::shared_ptr<ClientState> client) noexcept
      : PendingCall(std::move(client)) {
    place().counts = false;  // it would wait for itself
  }
  void start(std::unique_ptr<detail::Handler> handler, Executor* executor) override;

 private:
  void begin() override;
  void end() noexcept override;
  [[nodiscard]] bool step() noexcept override;
  [[nodiscard]] Instant again() const noexcept override;
  void deliver(detail::Handler* handler) noexcept override;
};

}  // namespace mortise::runtime
