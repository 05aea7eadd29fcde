// SPDX-License-Identifier: MIT
// One call of `Guard::lost_async()`: ends when the hold is lost, or unlocked.
#pragma once

#include <mortise/mode.hpp>
#include <mortise/owner.hpp>

#include "runtime/call/pending_call.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace mortise::runtime {

class Slot;

class PendingLoss final : public PendingCall {
 public:
  PendingLoss(const std::shared_ptr<Slot>& slot, Owner owner, Mode mode);
  ~PendingLoss() override;
  void start(std::unique_ptr<detail::Handler> handler, Executor* executor) override;

 private:
  void begin() override;
  [[nodiscard]] bool step() noexcept override;
  [[nodiscard]] Instant again() const noexcept override { return never; }
  void deliver(detail::Handler* handler) noexcept override;

  std::shared_ptr<Slot> slot_;  // until the call begins: it must not keep the slot
  const Owner owner_;
  const Mode mode_;
  const std::shared_ptr<std::atomic<bool>> seen_ = std::make_shared<std::atomic<bool>>(false);
  std::stop_token lost_;
  // A hold that was lost before the call begins has no notice any more.
  std::optional<std::stop_callback<std::function<void()>>> on_loss_;
  bool was_lost_ = false;
};

}  // namespace mortise::runtime
