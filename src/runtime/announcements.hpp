// SPDX-License-Identifier: MIT
// The reports of a client to the program: losses to the owners' tokens, everything else to the
// observer.
#pragma once

#include <mortise/observer.hpp>

#include "core/hold.hpp"
#include "runtime/notifier.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

namespace mortise::runtime {

/// Requests the stop of an owner's `lost()` token. One task per owner, because the callbacks of an
/// owner may block.
class LossTask final : public core::LossNotice, public Notifier::Task {
 public:
  void run() override { lost.request_stop(); }
};

/// @thread_safety every member may be called concurrently.
class Announcements {
 public:
  explicit Announcements(std::shared_ptr<Observer> observer)
      : observer_(std::move(observer)),
        losses_(most_loss_threads),
        news_(most_news_threads, most_news) {}
  /// @return null if the program has none.
  [[nodiscard]] const std::shared_ptr<Observer>& observer() const noexcept { return observer_; }
  /// Has the stop of an owner's token requested on another thread.
  /// @param notice null if the owner has not asked for the token: it gets a token that is stopped
  /// @return false: there is no thread for it, and `serve()` has to be called again
  bool lost(std::unique_ptr<core::LossNotice> notice) noexcept {
    if (!notice) return true;
    return losses_.post(std::unique_ptr<Notifier::Task>(static_cast<LossTask*>(notice.release())));
  }
  /// Looks for a thread for losses again. @return whether each has one, or waits for its turn
  bool serve() noexcept { return losses_.serve(); }
  /// Calls the observer. It is apart from the losses: an observer that blocks delays no loss.
  [[nodiscard]] Notifier& news() noexcept { return news_; }
  /// Takes no more of either. Waits until then for callbacks that run.
  void close(std::chrono::steady_clock::time_point until) noexcept {
    losses_.close(until);
    news_.close(until);
  }

 private:
  // While this many callbacks of `lost()` block, the next loss waits until one of them ends.
  static constexpr int most_loss_threads = 64;
  // The observer is one object. If it blocks, a few threads call it, and it misses what does not
  // fit.
  static constexpr int most_news_threads = 4;
  static constexpr std::size_t most_news = 10'000;

  const std::shared_ptr<Observer> observer_;
  Notifier losses_;
  Notifier news_;
};

}  // namespace mortise::runtime
