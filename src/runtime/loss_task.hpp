// SPDX-License-Identifier: MIT
// Requests the stop of an owner's `lost()` token, on a thread of the notifier.
#pragma once

#include "core/hold.hpp"
#include "runtime/notifier.hpp"

#include <memory>

namespace mortise::runtime {

/// One task per owner, because the callbacks of an owner may block.
class LossTask final : public core::LossNotice, public Notifier::Task {
 public:
  void run() override { lost.request_stop(); }
  /// @return the task behind a notice; null for null.
  [[nodiscard]] static std::unique_ptr<Task> of(std::unique_ptr<core::LossNotice> notice) noexcept {
    return std::unique_ptr<Task>(static_cast<LossTask*>(notice.release()));
  }
};

}  // namespace mortise::runtime
