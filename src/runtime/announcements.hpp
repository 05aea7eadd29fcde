// SPDX-License-Identifier: MIT
// The reports of a client to the program: losses to the owners' tokens, everything else to the
// observer.
#pragma once

#include <mortise/observer.hpp>
#include <mortise/operation.hpp>

#include "core/hold.hpp"
#include "runtime/notifier.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
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
  /// @param has_threads false: no thread is ever started, and a loop calls `run_here()`
  Announcements(std::shared_ptr<Observer> observer, bool has_threads)
      : observer_(std::move(observer)),
        losses_(has_threads ? most_loss_threads : 0),
        news_(has_threads ? most_news_threads : 0, most_news),
        has_threads_(has_threads) {}
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
  bool serve() noexcept {
    if (!has_threads_) return true;
    const bool losses = losses_.serve();
    return handlers_.serve() && losses;
  }
  /// Calls the observer. It is apart from the losses: an observer that blocks delays no loss.
  [[nodiscard]] Notifier& news() noexcept { return news_; }
  /// Runs the handlers of calls without a thread that have no executor, one after the other.
  [[nodiscard]] Notifier& handlers() noexcept { return handlers_; }
  /// Reports losses and news in the calling thread. @return whether there was one
  bool run_here() noexcept {
    const bool losses = losses_.run_here();
    return news_.run_here() || losses;
  }
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

  const std::shared_ptr<Observer> observer_;
  Notifier losses_;
  Notifier news_;
  Notifier handlers_{1};
  const bool has_threads_;
};

}  // namespace mortise::runtime
