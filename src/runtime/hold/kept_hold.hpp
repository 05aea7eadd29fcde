// SPDX-License-Identifier: MIT
// A hold that its owner has let go of sooner than `min_hold` says. The client tells the store when
// its lease is to end, and releases it then. If the client is gone by then, the lease ends the
// hold.
#pragma once

#include <mortise/holder.hpp>
#include <mortise/operation.hpp>

#include "core/keeping.hpp"
#include "runtime/engine/errands.hpp"

#include <atomic>
#include <memory>
#include <utility>

namespace mortise {
class Backend;
}

namespace mortise::runtime {

/// That word is said again until it is heard, as a release is; since a renewal is answered once,
/// each time by another one, and with what is left by then.
/// @thread_safety every member may be called concurrently.
class KeptHold final : public Errand, public std::enable_shared_from_this<KeptHold> {
 public:
  /// @param doubt until when a renewal of before, which was not answered, may yet be carried out
  /// and have the hold end with a lease of its own: the word is said once more until then
  KeptHold(HoldId hold, const core::Keeping& keeping, Instant doubt)
      : hold_(std::move(hold)), keeping_(keeping), doubt_(doubt) {}
  /// Says it, or says it again. Where there is no memory for it, it is as if it was lost on its
  /// way. Once `min_hold` has passed it sends a release instead: a store notifies waiters of a
  /// release, and not of a lease that ends, and the lease may end later.
  /// @return what to wait for; null = it was not said
  std::shared_ptr<Operation> say(Backend& backend, Instant now) noexcept;
  void send(const std::shared_ptr<Errand>& /*self*/, Backend& backend, Instant now) override {
    say(backend, now);
  }
  [[nodiscard]] bool is_answered() const noexcept override {
    return answer_.load() != Answer::unknown;
  }
  [[nodiscard]] bool is_over() const noexcept override {
    return released_.load() || answer_.load() == Answer::lost;
  }
  [[nodiscard]] Instant next(Instant now) const noexcept override;
  /// @return `released` where the hold stood, and ends as it should.
  [[nodiscard]] Released outcome() const noexcept;
  /// @return when it is over by itself.
  [[nodiscard]] Instant gone_at() const noexcept { return keeping_.ends() + core::fallback_period; }

 private:
  using Answer = Renewal::Answer;
  class Word;

  const HoldId hold_;
  const core::Keeping keeping_;
  const Instant doubt_;
  std::atomic<Answer> answer_{Answer::unknown};
  std::atomic<bool> released_{false};
};

}  // namespace mortise::runtime
