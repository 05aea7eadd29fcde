// SPDX-License-Identifier: MIT
// One call of `Lock::acquire_async()` or `Semaphore::acquire_async()`.
#pragma once

#include <mortise/guard.hpp>
#include <mortise/options.hpp>

#include "runtime/call/acquire_call.hpp"
#include "runtime/call/pending_call.hpp"

#include <memory>
#include <optional>

namespace mortise::runtime {

/// @return the options of a call without a thread: with an owner that is not a thread.
/// @throws Error if the owner is a thread, or if the store needs waiting threads
[[nodiscard]] AcquireOptions without_thread(const Slot& slot, const AcquireOptions& options);

class PendingAcquire : public PendingCall {
 public:
  /// @param options see `without_thread()`
  PendingAcquire(const std::shared_ptr<Slot>& slot, std::shared_ptr<const core::Terms> terms,
                 const AcquireOptions& options);
  ~PendingAcquire() override;

 private:
  void begin() override;
  [[nodiscard]] bool step() override;
  void abandon() override { call_->forsake(); }
  [[nodiscard]] Instant again() const noexcept override;
  void deliver(detail::Handler* handler) noexcept final;
  /// @param guard the result
  virtual void pass(detail::Handler* handler, Guard&& guard) noexcept {
    hand_over(handler, &guard);
  }

  std::shared_ptr<Slot> slot_;
  const std::shared_ptr<const core::Terms> terms_;
  const AcquireOptions options_;
  Grace grace_;
  mutable std::optional<AcquireCall> call_;
};

}  // namespace mortise::runtime
