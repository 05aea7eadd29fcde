// SPDX-License-Identifier: MIT
// "Whoever waits, does the work": threads that wait for answers take turns in polling the backend's
// sources, so that a lone caller pays for no thread switch and many share one system call. The
// background thread polls what no caller waits for. It knows nothing of locks.
#pragma once

#include <mortise/backend.hpp>

#include "base/fork.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace mortise::runtime {

/// Exactly one thread, the *leader*, polls the sources of replies. The others (*followers*) sleep,
/// each on its own operation; a leader that leaves pokes one of them, or the background thread.
/// @thread_safety every member may be called concurrently; `background()` by one thread.
class Engine {
 public:
  explicit Engine(std::shared_ptr<Clock> clock);
  ~Engine();

  void attach(Source& source);
  void detach(Source& source) noexcept;
  void changed(Source& source) noexcept;

  /// Waits for an operation, and polls for everybody if nobody else does. Returns when the signal
  /// is not `seen`, the time is up, or earlier.
  void wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most);

  /// The background thread's part: polls until the moment comes or `interrupt()` is called.
  void background(Instant until);
  /// Ends `background()` early, once, also when it comes first.
  void interrupt() noexcept;
  /// Wakes everybody who polls, so that each looks at the clock again.
  void nudge_all() noexcept;

 private:
  [[nodiscard]] bool replies_outstanding_locked() const;
  [[nodiscard]] bool used_locked(const Source& source) const;
  void lead(std::unique_lock<std::mutex>& lock, Operation& operation, std::uint32_t seen,
            std::chrono::nanoseconds at_most);
  void hand_on_locked() noexcept;
  void choose_last(std::unique_lock<std::mutex>& lock);
  void send_gathered(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool linger(const std::vector<Source*>& sources);
  /// @param own the operation that is nudged through `wake`; may be null
  void poll_sources(const std::vector<Source*>& sources, int wake, int timer, Instant until,
                    Operation* own);
  void leave_sources_locked(const std::vector<Source*>& sources);

  std::shared_ptr<Clock> clock_;
  base::UniqueFd leader_wake_;  // eventfds, made with the first source
  base::UniqueFd background_wake_;
  base::UniqueFd background_timer_;  // CLOCK_BOOTTIME: a sleep must end after a suspend, too
  std::atomic<bool> interrupted_{false};

  std::mutex mutex_;
  std::vector<Source*> replies_;  // polled by whoever waits
  std::vector<Source*> pushes_;   // polled by whoever waits for one, or else by the background
  bool leader_has_pushes_ = false;
  bool background_has_pushes_ = false;
  Operation* leader_ = nullptr;
  bool background_leads_ = false;
  std::vector<Operation*> followers_;
  // Of the followers that were answered together the last: it sends what the others ask next.
  const Operation* last_ = nullptr;

  // Never held while polling: a source is called by one thread at a time even while roles change.
  std::mutex calling_;
  std::vector<const std::vector<Source*>*> in_use_;  // what each polling thread chose
  std::condition_variable left_;
};

}  // namespace mortise::runtime
