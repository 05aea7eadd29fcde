// SPDX-License-Identifier: MIT
// An acquisition as the library sends it: whatever becomes of its caller, somebody answers for it.
#pragma once

#include <mortise/operation.hpp>

#include "core/custody.hpp"
#include "runtime/engine/errands.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

namespace mortise::runtime {

class StoreAccess;

/// `core::Custody` decides which object answers for it. If a grant arrives and no caller waits, the
/// thread that reads the grant gives it back. Without memory for that, an errand does.
class Attempt final : public Acquisition, public Errand {
 public:
  Attempt(Request&& request, std::weak_ptr<StoreAccess> store)
      : Acquisition(std::move(request)), store_(std::move(store)) {}
  /// The caller stops waiting for it.
  /// @return false: it was completed before, and the caller has to deal with the result
  [[nodiscard]] bool abandon() noexcept {
    return undergo(core::Fate::abandoned) != core::Duty::take_answer;
  }
  /// After it was abandoned: has it cancelled, or gives back what it was granted.
  void send(const std::shared_ptr<Errand>& self, Backend& backend, Instant now) override;
  /// @return whether it is over, and what it was granted after it was abandoned is given back.
  [[nodiscard]] bool is_answered() const noexcept override {
    return custody_.load() == core::Custody::nobody;
  }
  /// @return when nothing of it can be left at the server, if it was abandoned at that moment.
  [[nodiscard]] Instant gone_at(Instant now) const noexcept;

  /// When the server was asked last; kept with the attempt, because callers that inherit it one
  /// from the other, each sooner than it is due to be asked again, would otherwise never ask. Only
  /// the caller that waits for the attempt may use these.
  /// @param now the answer where nobody has waited for it yet
  [[nodiscard]] Instant asked_last(Instant now) noexcept {
    if (asked_ == Instant{}) asked_ = now;
    return asked_;
  }
  void asked(Instant now) noexcept { asked_ = now; }

 private:
  core::Duty undergo(core::Fate fate) noexcept;
  void give_back() noexcept;
  void finished() noexcept override;

  std::atomic<core::Custody> custody_{core::Custody::caller};
  Instant asked_{};
  const std::weak_ptr<StoreAccess> store_;
};

}  // namespace mortise::runtime
