// SPDX-License-Identifier: MIT
// One call of `Run::succeed_async()` or `Run::fail_async()`. Nothing stops it half-way: if its
// coroutine is destroyed, it goes on. If it never begins, it records the outcome without waiting.
#pragma once

#include "runtime/call/conclude_call.hpp"
#include "runtime/call/pending_call.hpp"

#include <memory>
#include <string_view>

namespace mortise::runtime {

class OpenRun;

class PendingConclusion final : public PendingCall {
 public:
  /// If this throws, the run stays open.
  PendingConclusion(const std::shared_ptr<OpenRun>& open, KeyState state, std::string_view bytes);
  void discard() noexcept override;

 private:
  /// The request leaves at once. Otherwise a `close()` that comes next would free the key without
  /// the outcome.
  void begin() override {
    call_.begin(this);
    static_cast<void>(call_.advance());
  }
  [[nodiscard]] bool step() noexcept override {
    if (must_end()) call_.hurry();
    return !call_.advance();
  }
  [[nodiscard]] Instant again() const noexcept override {
    return later(BootClock::now(), call_.sleeps_for());
  }
  void deliver(detail::Handler* handler) noexcept override;

  ConcludeCall call_;
};

}  // namespace mortise::runtime
