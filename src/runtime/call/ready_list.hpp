// SPDX-License-Identifier: MIT
// The calls without a thread that have something to do: rung by whatever they wait for, or by their
// time. One thread of the client, or of the program, steps them.
#pragma once

#include <mortise/clock.hpp>

#include "core/timer_heap.hpp"
#include "runtime/call/pending_call.hpp"

#include <atomic>
#include <cstddef>
#include <mutex>

namespace mortise::runtime {

class Engine;

/// @thread_safety every member may be called concurrently. The mutex is held while nothing else is
/// called, so a call may be rung under any other.
class ReadyList {
 public:
  /// @param engine is interrupted when a call was rung and no thread is about to step it
  explicit ReadyList(Engine& engine) noexcept : engine_(engine) {}

  /// A call is about to begin: the calling thread is inside of it. @throws std::bad_alloc
  void add(ReadyPlace& place);
  /// It has failed to.
  void remove(ReadyPlace& place) noexcept;
  /// It has begun: it is stepped soon.
  void begun(ReadyPlace& place) noexcept;
  /// The same, but the calling thread makes the first step itself.
  void step_here(ReadyPlace& place) noexcept;
  /// Has it stepped soon, unless it is over.
  void ring(ReadyPlace& place) noexcept;
  /// The same for every call that is not over.
  void ring_all() noexcept;

  /// Steps all calls that were rung, and those whose time has come.
  /// @return false: an executor has forked, and this is the child
  bool run() noexcept;
  /// No thread calls `run()` any more. Each call ends now, and a call that is inside of its start
  /// ends there. Completions that no executor takes are destroyed.
  void end() noexcept;
  [[nodiscard]] bool has_ended() const noexcept { return ended_.load(); }
  /// @return when to call `run()` next, in real time: the past = at once.
  [[nodiscard]] Instant next() const noexcept;
  /// @return whether every call is over, and its completion was posted.
  [[nodiscard]] bool idle() const noexcept;

  /// The calling thread will call `run()` before it sleeps, so it need not be woken. A thread of
  /// the program ends that by the destructor.
  class Driving {
   public:
    explicit Driving(const ReadyList& list) noexcept;
    Driving(const Driving&) = delete;
    Driving& operator=(const Driving&) = delete;
    ~Driving();

   private:
    const ReadyList* const before_;
  };
  /// The same for a thread that does nothing else until it ends.
  void driven_by_this_thread() const noexcept;
  [[nodiscard]] bool is_driven_here() const noexcept;
  /// @return whether the calling thread is inside of a step: it runs an observer or an executor.
  [[nodiscard]] bool is_stepped_here() const noexcept;

 private:
  void list_locked(ReadyPlace& place) noexcept;
  void over_locked(ReadyPlace& place) noexcept;
  /// @return false: in a forked child
  bool step(ReadyPlace& place, bool posts) noexcept;
  /// @return false: in a forked child
  bool step_listed() noexcept;
  /// @return false: in a forked child
  bool end_the_rest() noexcept;

  Engine& engine_;
  mutable std::mutex mutex_;
  core::TimerHeap heap_;
  ReadyPlace* first_ = nullptr;
  ReadyPlace* last_ = nullptr;
  std::size_t calls_ = 0;
  std::atomic<bool> ended_{false};
};

}  // namespace mortise::runtime
