// SPDX-License-Identifier: MIT
// A queue of tasks with as many threads as there are tasks that block.
#include "runtime/engine/notifier.hpp"

#include "base/fork.hpp"
#include "base/leak.hpp"
#include "base/mutant.hpp"
#include "base/quiet_thread.hpp"
#include "runtime/engine/reader_role.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

namespace mortise::runtime {
namespace {

using Time = std::chrono::steady_clock;

// In which tasks that block nowhere end, and threads that have none.
constexpr std::chrono::milliseconds a_moment{5};
// How long a task waits for those before it, which nearly always end at once.
constexpr std::chrono::milliseconds patience{10};
// How long a thread that is not needed stays.
constexpr std::chrono::seconds leisure{1};

thread_local bool in_task = false;

class FunctionTask final : public Notifier::Task {
 public:
  explicit FunctionTask(std::function<void()> function) : function_(std::move(function)) {}
  void run() override { function_(); }

 private:
  const std::function<void()> function_;
};

/// The threads that run tasks, and which thread joins them. Under the notifier's mutex.
class Crew {
 public:
  explicit Crew(int most_threads) noexcept : most_threads_(most_threads) {}

  /// @return whether a thread has started
  template <class Body>
  bool start(const Body& body) noexcept {
    if (is_full()) return false;
    std::list<std::thread> one;
    try {
      one.emplace_back();
      one.back() = base::quiet_thread(body);
    } catch (const std::exception&) {
      // No thread, or no memory, to be had now: a thread that runs already, the next post, serve(),
      // or close() takes the task.
      return false;
    }
    ++running_;
    if (taken_) {
      one.back().detach();  // no thread would join it
    } else {
      threads_.splice(threads_.end(), one);
    }
    return true;
  }
  /// @return the number of threads that have not left.
  [[nodiscard]] int running() const noexcept { return running_; }
  [[nodiscard]] bool is_full() const noexcept { return running_ >= most_threads_; }
  /// @return whether it can ever have a thread. Without one, the program runs the tasks.
  [[nodiscard]] bool may_have_threads() const noexcept { return most_threads_ > 0; }
  /// @return whether the calling thread is one of them.
  [[nodiscard]] bool has_caller() noexcept { return caller() != threads_.end(); }
  /// The calling thread leaves. @return those that left before it: it joins them without the mutex
  [[nodiscard]] std::list<std::thread> leave() noexcept {
    std::list<std::thread> before = std::exchange(leaving_, {});
    // After take() the thread is joined, or detached, already.
    if (const auto self = caller(); self != threads_.end()) {
      leaving_.splice(leaving_.end(), threads_, self);
    }
    --running_;
    return before;
  }
  /// @return the threads that there are, to be joined or detached. Later ones are detached.
  [[nodiscard]] std::list<std::thread> take() noexcept {
    taken_ = true;
    leaving_.splice(leaving_.end(), threads_);
    return std::exchange(leaving_, {});
  }

 private:
  [[nodiscard]] std::list<std::thread>::iterator caller() noexcept {
    return std::find_if(threads_.begin(), threads_.end(), [](const std::thread& thread) {
      return thread.get_id() == std::this_thread::get_id();
    });
  }

  const int most_threads_;
  int running_ = 0;
  std::list<std::thread> threads_;
  std::list<std::thread> leaving_;
  bool taken_ = false;
};

}  // namespace

struct Notifier::State {
  State(int most_threads, std::size_t tasks_at_most)
      : most_tasks(tasks_at_most), crew(most_threads) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    while (tasks.size() > 0) static_cast<void>(take_locked());
  }
  /// @return whether this is a forked child. It must touch no mutex.
  [[nodiscard]] bool is_forked() const noexcept { return generation != base::fork_generation(); }
  /// The task has forked and returned in the child. The child never destroys the task or the state.
  static void leave_to_parent(std::shared_ptr<State> self, std::unique_ptr<Task> task) noexcept {
    static_cast<void>(task.release());
    base::leak(std::move(self));
  }

  static void start_locked(const std::shared_ptr<State>& self, bool watches) noexcept;
  [[nodiscard]] bool watch_locked(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool await_work_locked(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] std::unique_ptr<Task> take_locked() noexcept;
  void leave(std::unique_lock<std::mutex>& lock);

  const std::uint32_t generation = base::fork_generation();
  const std::size_t most_tasks;
  std::mutex mutex;
  std::condition_variable work;  // for those who have nothing to do
  std::condition_variable late;  // for the one who watches
  std::condition_variable ended;
  List<Task> tasks;  // owned
  Crew crew;
  std::size_t idle = 0;
  bool watched = false;  // by a thread that looks whether a task has to wait
  bool closed = false;   // takes no more tasks; those that there are have their threads still
};

Notifier::Notifier(int most_threads, std::size_t most_tasks)
    : state_(std::make_shared<State>(most_threads, most_tasks)) {}
Notifier::~Notifier() { close(); }

bool Notifier::inside() noexcept { return in_task; }

void Notifier::State::start_locked(const std::shared_ptr<State>& self, bool watches) noexcept {
  if (self->crew.start([self, watches] { run(self, watches); })) self->watched |= watches;
}

bool Notifier::post(std::function<void()> task) {
  return post(std::make_unique<FunctionTask>(std::move(task)));
}

bool Notifier::post(std::unique_ptr<Task> task) noexcept {
  if (state_->is_forked()) return true;
  const std::lock_guard lock(state_->mutex);
  if (state_->closed || state_->tasks.size() >= state_->most_tasks) return true;
  task->since = Time::now();
  state_->tasks.push_back(*task.release());
  return serve_locked(state_);
}

bool Notifier::serve() noexcept {
  if (state_->is_forked()) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->tasks.size() == 0 || serve_locked(state_);
}

bool Notifier::waits() const noexcept {
  if (state_->is_forked()) return false;
  const std::lock_guard lock(state_->mutex);
  return state_->tasks.size() > 0;
}

bool Notifier::serve_locked(const std::shared_ptr<State>& state) noexcept {
  if (state->crew.running() == 0) {
    State::start_locked(state, false);
    return state->crew.running() > 0;
  }
  if (state->idle >= state->tasks.size()) {
    state->work.notify_one();
    return true;
  }
  if (!state->watched && !base::mutant("core.losses_behind_a_blocked_callback")) {
    State::start_locked(state, true);
    return state->watched || state->crew.is_full();
  }
  state->late.notify_one();
  return true;
}

std::unique_ptr<Notifier::Task> Notifier::State::take_locked() noexcept {
  return std::unique_ptr<Task>(&tasks.pop_front());
}

// @return whether this thread has to run what waits too long; false: nothing has come for a while.
bool Notifier::State::watch_locked(std::unique_lock<std::mutex>& lock) {
  for (;;) {
    if (tasks.size() == 0 && closed) return true;
    if (tasks.size() == 0) {
      const bool quiet = late.wait_for(lock, leisure) == std::cv_status::timeout;
      if (quiet && tasks.size() == 0 && !closed) return false;
      continue;
    }
    const Time::time_point due = tasks.first()->since + patience;
    if (Time::now() >= due) return true;
    late.wait_until(lock, due);
  }
}

// @return whether there is a task; false: this thread is not needed any more.
bool Notifier::State::await_work_locked(std::unique_lock<std::mutex>& lock) {
  while (tasks.size() == 0 && !closed) {
    ++idle;
    const bool quiet = work.wait_for(lock, leisure) == std::cv_status::timeout;
    --idle;
    if (quiet && tasks.size() == 0 && idle > 0) return false;
  }
  return tasks.size() > 0;
}

void Notifier::State::leave(std::unique_lock<std::mutex>& lock) {
  std::list<std::thread> before = crew.leave();
  ended.notify_all();
  if (closed) late.notify_all();  // the thread that watches may have nothing to watch any more
  lock.unlock();
  // Not in post(): what the program destroys at the end of a thread may take its time.
  for (std::thread& thread : before) thread.join();
}

void Notifier::run(const std::shared_ptr<State>& state, bool watches) {
  std::unique_lock lock(state->mutex);
  if (watches) {
    const bool needed = state->watch_locked(lock);
    state->watched = false;
    if (!needed) return state->leave(lock);
    // Somebody has to look after those behind the one that this thread runs now.
    if (state->tasks.size() > 1) State::start_locked(state, true);
  }
  while (state->await_work_locked(lock)) {
    std::unique_ptr<Task> task = state->take_locked();
    lock.unlock();
    in_task = true;
    task->run();
    // The thread ends, and the child with it, for there is no other thread.
    if (state->is_forked()) return State::leave_to_parent(state, std::move(task));
    task.reset();
    in_task = false;
    lock.lock();
  }
  state->leave(lock);
}

bool Notifier::run_here() noexcept {
  if (state_->is_forked()) return false;
  const std::shared_ptr<State> state = state_;  // a task may destroy the notifier
  std::unique_lock lock(state->mutex);
  const bool any = state->tasks.size() > 0;
  while (state->tasks.size() > 0) {
    std::unique_ptr<Task> task = state->take_locked();
    lock.unlock();
    const bool before = std::exchange(in_task, true);
    task->run();
    const bool forked = state->is_forked();
    if (forked) State::leave_to_parent(state, std::move(task));
    task.reset();
    in_task = before;
    if (forked) break;
    lock.lock();
  }
  return any;
}

void Notifier::close(Time::time_point until) noexcept {
  if (state_->is_forked()) return;
  std::list<std::thread> threads;
  List<Task> left_over;
  {
    std::unique_lock lock(state_->mutex);
    // The destructor comes here again, perhaps from inside a task that waits for nobody.
    if (std::exchange(state_->closed, true)) return;
    // Perhaps there was no thread to be had for them.
    if (state_->crew.running() == 0 && state_->tasks.size() > 0) State::start_locked(state_, false);
    state_->work.notify_all();
    state_->late.notify_all();
    const bool inside = state_->crew.has_caller();
    // Closed from inside a task: this thread cannot wait for its own end.
    const int others = inside ? 1 : 0;
    const bool quiet = state_->ended.wait_until(lock, std::max(until, Time::now() + a_moment),
                                                [&] { return state_->crew.running() <= others; });
    // Not before: while some tasks block, the others behind them need more threads.
    threads = state_->crew.take();
    if (!quiet || inside) {
      for (std::thread& thread : threads) thread.detach();
      return;
    }
    // The machine has started no thread for these. A task may keep the client of this notifier.
    if (state_->crew.may_have_threads()) left_over = std::exchange(state_->tasks, {});
  }
  for (std::thread& thread : threads) thread.join();
  while (left_over.size() > 0) std::unique_ptr<Task>(&left_over.pop_front()).reset();
}

}  // namespace mortise::runtime
