// SPDX-License-Identifier: MIT
// The client's background thread: the watchdog of its leases, the sender of errands, the reader of
// pushes, and the thread that steps calls without one. It never runs code of the program.
#pragma once

#include <mortise/backend.hpp>

#include "core/timer_heap.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/errands.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::runtime {

class HoldKeeper;

/// The timer of a slot's holds. It stays in the heap when a hold ends: the next hold finds it
/// armed, and where there is none it wakes the thread once in vain, which costs less than two
/// visits a lock.
struct HoldTimer : core::Timer {
  HoldKeeper* keeper = nullptr;
};

/// @thread_safety every member may be called concurrently. Lock order: a slot's mutex comes before
/// this one's.
class Background {
 public:
  /// The work of others on its thread.
  struct Duties {
    std::function<void()> clock_was_set;  ///< or the machine was suspended
    /// Looks for a thread that can report losses. @return whether there is one
    std::function<bool()> serve;
    /// Steps the calls without a thread. @return when to do that again; nothing: an executor has
    /// forked, and this is the child
    std::function<std::optional<Instant>()> step;
  };

  /// @param has_thread false: no thread is ever started, and a loop calls `look()`
  Background(Engine& engine, Backend& backend, Clock& clock, Duties duties, bool has_thread);
  ~Background();

  /// Has the keeper ticked at that moment; starts the thread the first time. Its slot takes the
  /// timer back before it is gone.
  /// @param early how much sooner, where others are ticked anyway
  void set(HoldTimer& timer, Instant due, std::chrono::nanoseconds early);
  void remove(HoldTimer& timer) noexcept;
  /// Sends it again until it is answered, or until then. @param what an `Errand` or a `Release`
  template <class What>
  void adopt(std::shared_ptr<What> what, Instant until) {
    send_before(errands_.adopt(std::move(what), clock_.now(), until));
  }
  /// Has `serve` called in a moment, and again until there is a thread.
  void serve_later() noexcept;
  /// @return whether all errands are answered.
  [[nodiscard]] bool idle() { return errands_.idle(); }
  /// Starts the thread: there is something to poll.
  void start();
  /// Ends the thread; later calls have no effect any more.
  void stop() noexcept;

  /// For a loop: reads what has come, and does what is due. It never sleeps.
  /// @return when there is something to do next; nothing: it was stopped, or this is a forked child
  [[nodiscard]] std::optional<Instant> look();

 private:
  void run();
  [[nodiscard]] bool run_once();
  [[nodiscard]] std::optional<Instant> work();
  /// All that was due is still due. @return false: it was stopped
  [[nodiscard]] bool still_due();
  void send_before(Instant due);
  void start_locked();
  void wake_before_locked(Instant due);
  std::vector<std::shared_ptr<HoldKeeper>> due_keepers(Instant now);
  void tick(const std::vector<std::shared_ptr<HoldKeeper>>& keepers, Instant now);

  /// When the thread has something to do, besides ticking holds.
  struct Moments {
    Instant looks = never;   // again by itself
    Instant sends = never;   // errands
    Instant serves = never;  // those who wait for a thread
  };

  Engine& engine_;
  Backend& backend_;
  Clock& clock_;
  const Duties duties_;
  const bool has_thread_;
  Errands errands_;
  std::mutex mutex_;
  core::TimerHeap heap_;
  Moments at_;
  bool stopping_ = false;
  std::thread thread_;
  std::atomic<bool> started_{
      false};  // lets `start()`, part of each acquisition, do without the mutex
};

}  // namespace mortise::runtime
