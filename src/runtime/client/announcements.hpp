// SPDX-License-Identifier: MIT
// The reports of a client to the program: losses to the owners' tokens, everything else to the
// observer.
#pragma once

#include <mortise/observer.hpp>
#include <mortise/operation.hpp>

#include "core/hold.hpp"
#include "runtime/engine/notifier.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::runtime {

/// Requests the stop of an owner's `lost()` token. One task per owner, because the callbacks of an
/// owner may block. If the owner unlocks, the task is destroyed, and then the token can stop no
/// more.
class LossTask final : public core::LossNotice, public Notifier::Task {
 public:
  /// A call without a thread that waits for the end of the hold.
  struct Watch {
    std::weak_ptr<Waker> call;
    std::shared_ptr<std::atomic<bool>> was_lost;  ///< set before the call is woken
  };
  ~LossTask() override;
  /// The calls come first: a callback of the program may block.
  void run() override;
  /// Has the call woken when the hold is over. Under the slot's mutex.
  /// @throws std::bad_alloc
  void watch(Watch call);

 private:
  void wake_calls() const noexcept;

  std::vector<Watch> calls_;
};

/// @thread_safety every member may be called concurrently.
class Announcements {
 public:
  /// @param wake_loop has a loop call `run_here()`; empty = there is no loop, and threads are
  /// started
  Announcements(std::shared_ptr<Observer> observer, std::function<void()> wake_loop)
      : observer_(std::move(observer)),
        wake_loop_(std::move(wake_loop)),
        losses_(wake_loop_ ? 0 : most_loss_threads),
        news_(wake_loop_ ? 0 : most_news_threads, most_news) {}
  /// @return null if the program has none.
  [[nodiscard]] const std::shared_ptr<Observer>& observer() const noexcept { return observer_; }
  /// Has the stop of an owner's token requested on another thread, or by the loop.
  /// @param notice null if the owner has not asked for the token: it gets a token that is stopped
  /// @return false: there is no thread for it, and `serve()` has to be called again
  bool lost(std::unique_ptr<core::LossNotice> notice) noexcept {
    if (!notice) return true;
    const bool served =
        losses_.post(std::unique_ptr<Notifier::Task>(static_cast<LossTask*>(notice.release())));
    return wake_loop() || served;
  }
  /// Looks for a thread for losses again. @return whether each has one, or waits for its turn
  bool serve() noexcept {
    if (wake_loop_) return true;
    const bool losses = losses_.serve();
    return handlers_.serve() && losses;
  }
  /// Has a task run that calls the observer. It is apart from the losses: an observer that blocks
  /// delays no loss. @throws std::bad_alloc
  void tell_observer(std::function<void()> task) {
    news_.post(std::move(task));
    static_cast<void>(wake_loop());
  }
  /// Runs the handlers of calls without a thread that have no executor, one after the other.
  [[nodiscard]] Notifier& handlers() noexcept { return handlers_; }
  /// Reports losses and news in the calling thread. @return whether there was one
  bool run_here() noexcept {
    const bool losses = losses_.run_here();
    return news_.run_here() || losses;
  }
  /// @return whether losses or news wait for `run_here()`.
  [[nodiscard]] bool waits() const noexcept { return losses_.waits() || news_.waits(); }
  /// Takes no more of any. Waits until then for callbacks that run.
  void close(std::chrono::steady_clock::time_point until) noexcept {
    losses_.close(until);
    news_.close(until);
    handlers_.close(until);
  }

 private:
  // While this many callbacks of `lost()` block, the next loss waits until one of them ends.
  static constexpr int most_loss_threads = 64;
  // The observer is one object. If it blocks, a few threads call it, and it misses what does not
  // fit.
  static constexpr int most_news_threads = 4;
  static constexpr std::size_t most_news = 10'000;

  /// @return false: there is no loop
  bool wake_loop() const noexcept {
    if (wake_loop_) wake_loop_();
    return static_cast<bool>(wake_loop_);
  }

  const std::shared_ptr<Observer> observer_;
  const std::function<void()> wake_loop_;
  Notifier losses_;
  Notifier news_;
  Notifier handlers_{1};
};

}  // namespace mortise::runtime
