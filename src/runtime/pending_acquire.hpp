// SPDX-License-Identifier: MIT
// One call of `Lock::acquire_async()`.
#pragma once

#include <mortise/options.hpp>

#include "runtime/acquire_call.hpp"
#include "runtime/pending_call.hpp"

#include <memory>
#include <optional>

namespace mortise::runtime {

class PendingAcquire final : public PendingCall {
 public:
  /// @param options has an owner that is not a thread
  PendingAcquire(const std::shared_ptr<Slot>& slot, std::shared_ptr<const core::Terms> terms,
                 const AcquireOptions& options);
  ~PendingAcquire() override;

 private:
  void begin() override;
  [[nodiscard]] bool step() noexcept override;
  [[nodiscard]] Instant again() const noexcept override;
  void deliver(PendingHandler* handler) noexcept override;

  std::shared_ptr<Slot> slot_;
  const std::shared_ptr<const core::Terms> terms_;
  const AcquireOptions options_;
  Grace grace_;
  mutable std::optional<AcquireCall> call_;
};

}  // namespace mortise::runtime
