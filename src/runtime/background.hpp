// SPDX-License-Identifier: MIT
// The client's background thread: the watchdog of its leases, the sender of errands, and the
// reader of pushes. It never runs code of the program.
#pragma once

#include <mortise/backend.hpp>

#include "core/timer_heap.hpp"
#include "runtime/engine.hpp"
#include "runtime/errands.hpp"

#include <atomic>
#include <functional>
#include <mutex>
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
  /// @param clock_was_set called when the clock was set, or the machine was suspended
  /// @param serve looks for a thread that can tell losses; returns whether there is one
  Background(Engine& engine, Backend& backend, Clock& clock, std::function<void()> clock_was_set,
             std::function<bool()> serve);
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

 private:
  void run();
  [[nodiscard]] bool run_once();
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
  const std::function<void()> clock_was_set_;
  const std::function<bool()> serve_;
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
