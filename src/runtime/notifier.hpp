// SPDX-License-Identifier: MIT
// Delivers news to the program's own code: loss callbacks and observers. Its threads hold no mutex
// of the library and no I/O role, so user code may block here, and destroy anything.
#pragma once

#include <functional>
#include <memory>

namespace mortise::runtime {

/// A queue of tasks and the threads that run them, started when the first task comes. A task waits
/// only while `most_threads` others block.
/// @thread_safety every member may be called concurrently; from inside a task, too.
class Notifier {
 public:
  static constexpr int most_threads = 4;
  Notifier();
  ~Notifier();
  /// Has the task run, after those posted before it have begun.
  void post(std::function<void()> task);
  /// Takes no more tasks; waits a bounded time for those that are queued. A task that blocks longer
  /// ends on its own thread later; it keeps alive what it needs.
  void close() noexcept;

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace mortise::runtime
