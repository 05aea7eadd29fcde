// SPDX-License-Identifier: MIT
#include "runtime/notifier.hpp"

#include "base/mutant.hpp"
#include "base/quiet_thread.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

namespace mortise::runtime {
namespace {

using Time = std::chrono::steady_clock;

constexpr std::chrono::milliseconds patience_at_close{500};
// How long a task waits for those before it, which nearly always end at once.
constexpr std::chrono::milliseconds patience{10};
// How long a thread that is not needed stays.
constexpr std::chrono::seconds leisure{1};

thread_local bool in_task = false;

}  // namespace

struct Notifier::State {
  struct Task {
    std::function<void()> run;
    Time::time_point since;
  };

  State(int threads_at_most, std::size_t tasks_at_most)
      : most_threads(threads_at_most), most_tasks(tasks_at_most) {}

  static void start_locked(const std::shared_ptr<State>& self, bool watches) noexcept;
  [[nodiscard]] bool watch_locked(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool await_work_locked(std::unique_lock<std::mutex>& lock);
  void leave_locked();

  const int most_threads;
  const std::size_t most_tasks;
  std::mutex mutex;
  std::condition_variable work;  // for those who have nothing to do
  std::condition_variable late;  // for the one who watches
  std::condition_variable ended;
  std::deque<Task> tasks;
  std::list<std::thread> threads;
  std::list<std::thread> over;  // threads that are about to end, to be joined
  std::size_t idle = 0;
  bool watched = false;  // by a thread that looks whether a task has to wait
  int running = 0;       // threads that have not left run()
  bool closed = false;   // takes no more tasks; those that there are have their threads still
  bool left = false;     // close() has taken the threads that there were
};

Notifier::Notifier(int most_threads, std::size_t most_tasks)
    : state_(std::make_shared<State>(most_threads, most_tasks)) {}
Notifier::~Notifier() { close(); }

bool Notifier::inside() noexcept { return in_task; }

void Notifier::State::start_locked(const std::shared_ptr<State>& self, bool watches) noexcept {
  if (self->running >= self->most_threads) return;
  std::list<std::thread> one;
  try {
    one.emplace_back();
    one.back() = base::quiet_thread([self, watches] { run(self, watches); });
  } catch (const std::exception&) {
    // No thread, or no memory, to be had now: one that runs already, the next post, or close(),
    // takes the task.
    return;
  }
  ++self->running;
  self->watched = self->watched || watches;
  if (self->left) {
    one.back().detach();  // nobody would join it
  } else {
    self->threads.splice(self->threads.end(), one);
  }
}

void Notifier::post(std::function<void()> task) {
  std::list<std::thread> over;
  {
    const std::lock_guard lock(state_->mutex);
    State& state = *state_;
    if (state.closed || state.tasks.size() >= state.most_tasks) return;
    state.tasks.push_back({.run = std::move(task), .since = Time::now()});
    over.swap(state.over);
    if (state.running == 0) {
      State::start_locked(state_, false);
    } else if (state.idle >= state.tasks.size()) {
      state.work.notify_one();
    } else if (!state.watched && !base::mutant("core.losses_behind_a_blocked_callback")) {
      State::start_locked(state_, true);
    } else {
      state.late.notify_one();
    }
  }
  for (std::thread& thread : over) thread.join();
}

// @return whether this thread has to run what waits too long; false: nothing has come for a while.
bool Notifier::State::watch_locked(std::unique_lock<std::mutex>& lock) {
  for (;;) {
    if (tasks.empty() && closed) return true;
    if (tasks.empty()) {
      const bool quiet = late.wait_for(lock, leisure) == std::cv_status::timeout;
      if (quiet && tasks.empty() && !closed) return false;
      continue;
    }
    const Time::time_point due = tasks.front().since + patience;
    if (Time::now() >= due) return true;
    late.wait_until(lock, due);
  }
}

// @return whether there is a task; false: this thread is not needed any more.
bool Notifier::State::await_work_locked(std::unique_lock<std::mutex>& lock) {
  while (tasks.empty() && !closed) {
    ++idle;
    const bool quiet = work.wait_for(lock, leisure) == std::cv_status::timeout;
    --idle;
    if (quiet && tasks.empty() && idle > 0) return false;
  }
  return !tasks.empty();
}

void Notifier::State::leave_locked() {
  const auto self = std::find_if(threads.begin(), threads.end(), [](const std::thread& thread) {
    return thread.get_id() == std::this_thread::get_id();
  });
  // Closed notifiers have taken the threads to join or leave them.
  if (self != threads.end()) over.splice(over.end(), threads, self);
  --running;
  ended.notify_all();
  if (closed) late.notify_all();  // whoever watches may have nothing to watch any more
}

void Notifier::run(const std::shared_ptr<State>& state, bool watches) {
  std::unique_lock lock(state->mutex);
  if (watches) {
    const bool needed = state->watch_locked(lock);
    state->watched = false;
    if (!needed) return state->leave_locked();
    // Somebody has to look after those behind the one that this thread runs now.
    if (state->tasks.size() > 1) State::start_locked(state, true);
  }
  while (state->await_work_locked(lock)) {
    {
      const std::function<void()> task = std::move(state->tasks.front().run);
      state->tasks.pop_front();
      lock.unlock();
      in_task = true;
      task();
      in_task = false;
    }
    lock.lock();
  }
  state->leave_locked();
}

void Notifier::close() noexcept {
  std::list<std::thread> threads;
  {
    std::unique_lock lock(state_->mutex);
    // The destructor comes here again, perhaps from inside a task that waits for nobody.
    if (std::exchange(state_->closed, true)) return;
    // Perhaps there was no thread to be had for them.
    if (state_->running == 0 && !state_->tasks.empty()) State::start_locked(state_, false);
    state_->work.notify_all();
    state_->late.notify_all();
    bool inside = false;
    for (const std::thread& thread : state_->threads)
      inside |= thread.get_id() == std::this_thread::get_id();
    // Closed from inside a task: this thread cannot wait for its own end.
    const int others = inside ? 1 : 0;
    const bool quiet =
        state_->ended.wait_for(lock, patience_at_close, [&] { return state_->running <= others; });
    // Not before: while some tasks block, the others behind them need more threads.
    state_->left = true;
    threads.swap(state_->threads);
    threads.splice(threads.end(), state_->over);
    if (!quiet || inside) {
      for (std::thread& thread : threads) thread.detach();
      return;
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace mortise::runtime
