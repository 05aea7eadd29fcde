// SPDX-License-Identifier: MIT
// One call of `Semaphore::acquire_async()`.
#pragma once

#include <mortise/permit.hpp>

#include "runtime/call/pending_acquire.hpp"

#include <utility>

namespace mortise::runtime {

class PendingPermit final : public PendingAcquire {
 public:
  using PendingAcquire::PendingAcquire;

 private:
  void pass(detail::Handler* handler, Guard&& guard) noexcept override {
    Permit permit(std::move(guard));
    hand_over(handler, &permit);
  }
};

}  // namespace mortise::runtime
