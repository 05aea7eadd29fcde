// SPDX-License-Identifier: MIT
// One call of `Guard::unlock_async()`. Nothing stops it half-way: if its coroutine is destroyed, it
// goes on.
#pragma once

#include "runtime/call/pending_call.hpp"
#include "runtime/call/release_call.hpp"

#include <memory>
#include <optional>

namespace mortise::runtime {

class PendingRelease final : public PendingCall {
 public:
  PendingRelease(const std::shared_ptr<Slot>& slot, Owner owner, Mode mode);
  ~PendingRelease() override;
  void discard() noexcept override;

 private:
  void begin() override;
  [[nodiscard]] bool step() noexcept override {
    if (must_end()) call_->hurry();
    return !call_->advance();
  }
  [[nodiscard]] Instant again() const noexcept override {
    return later(BootClock::now(), call_->sleeps_for());
  }
  void deliver(detail::Handler* handler) noexcept override;

  std::shared_ptr<Slot> slot_;
  const Owner owner_;
  const Mode mode_;
  std::optional<ReleaseCall> call_;
};

}  // namespace mortise::runtime
