// SPDX-License-Identifier: MIT
// Delivers news to the program's own code: loss callbacks and observers. Its threads hold no mutex
// of the library and no I/O role, so user code may block here, and destroy anything.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace mortise::runtime {

/// A queue of tasks and the threads that run them: one, started when the first task comes, and one
/// more whenever a task has waited for `patience` because those before it block. Threads that are
/// not needed any more end by themselves. In a forked child it does nothing: if a task forks and
/// comes back in the child, its thread ends there.
/// @thread_safety every member may be called concurrently; from inside a task, too.
class Notifier {
 public:
  /// Something to tell. It is made before anything happens, so that telling it needs no memory.
  class Task {
   public:
    virtual ~Task() = default;
    virtual void run() = 0;

    // The notifier's.
    Task* before = nullptr;
    Task* after = nullptr;
    std::chrono::steady_clock::time_point since{};
  };
  /// @param most_threads while so many tasks block the next ones wait; 0: no thread is ever
  /// started, and `run_here()` runs the tasks
  /// @param most_tasks what is posted while so many wait is dropped
  explicit Notifier(int most_threads, std::size_t most_tasks = static_cast<std::size_t>(-1));
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;
  /// Has the task run, after those posted before it have begun.
  /// @return false: no thread was to be had for it, `serve()` has to be called again
  bool post(std::unique_ptr<Task> task) noexcept;
  bool post(std::function<void()> task);
  /// Looks for a thread again. @return whether every task has one, or waits for its turn
  bool serve() noexcept;
  /// Runs the tasks in the calling thread, one after the other. @return whether there was one
  bool run_here() noexcept;
  /// @return whether tasks wait for their turn.
  [[nodiscard]] bool waits() const noexcept;
  /// How long closing waits for tasks, as a rule.
  static constexpr std::chrono::milliseconds patience_at_close{500};
  /// Takes no more tasks; waits until then, or a moment, for those that are queued. A task that
  /// blocks longer ends on its own thread later; it keeps alive what it needs.
  void close(std::chrono::steady_clock::time_point until) noexcept;
  void close() noexcept { close(std::chrono::steady_clock::now() + patience_at_close); }
  /// @return whether the calling thread runs a task of any notifier.
  [[nodiscard]] static bool inside() noexcept;

 private:
  struct State;
  [[nodiscard]] static bool serve_locked(const std::shared_ptr<State>& state) noexcept;
  static void run(const std::shared_ptr<State>& state, bool watches);
  std::shared_ptr<State> state_;
};

}  // namespace mortise::runtime
