// SPDX-License-Identifier: MIT
// One call of `Once::begin_async()`.
#pragma once

#include "runtime/call/acquire_call.hpp"
#include "runtime/call/begin_call.hpp"
#include "runtime/call/pending_call.hpp"

#include <optional>

namespace mortise::runtime {

class PendingBegin final : public PendingCall {
 public:
  explicit PendingBegin(Beginning what);
  ~PendingBegin() override;

 private:
  void begin() override { call_.emplace(what_, grace_, this); }
  [[nodiscard]] bool step() override;
  void abandon() override { call_->forsake(); }
  [[nodiscard]] Instant again() const noexcept override {
    return later(BootClock::now(), call_->sleeps_for());
  }
  void deliver(detail::Handler* handler) noexcept override;

  Beginning what_;
  Grace grace_;
  bool is_first_step_ = true;
  mutable std::optional<BeginCall> call_;
};

}  // namespace mortise::runtime
