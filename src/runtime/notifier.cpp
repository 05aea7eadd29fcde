// SPDX-License-Identifier: MIT
#include "runtime/notifier.hpp"

#include "base/quiet_thread.hpp"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::runtime {
namespace {

constexpr std::chrono::milliseconds patience_at_close{500};

}  // namespace

struct Notifier::State {
  std::mutex mutex;
  std::condition_variable work;
  std::condition_variable ended;
  std::deque<std::function<void()>> tasks;
  std::vector<std::thread> threads;
  int idle = 0;
  int running = 0;  // threads that have not left run()
  bool closed = false;
};

Notifier::Notifier() : state_(std::make_shared<State>()) {}
Notifier::~Notifier() { close(); }

void Notifier::post(std::function<void()> task) {
  const std::lock_guard lock(state_->mutex);
  if (state_->closed) return;
  state_->tasks.push_back(std::move(task));
  const bool starts = static_cast<std::size_t>(state_->idle) < state_->tasks.size() &&
                      state_->running < most_threads;
  if (!starts) {
    state_->work.notify_one();
    return;
  }
  try {
    state_->threads.push_back(base::quiet_thread([state = state_] { run(state); }));
    ++state_->running;
  } catch (const std::system_error&) {
    // No thread to be had now: one that runs already, or the next post, takes the task.
    state_->work.notify_one();
  }
}

void Notifier::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    ++state->idle;
    state->work.wait(lock, [&] { return !state->tasks.empty() || state->closed; });
    --state->idle;
    if (state->tasks.empty()) break;
    {
      const std::function<void()> task = std::move(state->tasks.front());
      state->tasks.pop_front();
      lock.unlock();
      task();
    }
    lock.lock();
  }
  --state->running;
  state->ended.notify_all();
}

void Notifier::close() noexcept {
  std::vector<std::thread> threads;
  {
    std::unique_lock lock(state_->mutex);
    // The destructor comes here again, perhaps from inside a task that waits for nobody.
    if (std::exchange(state_->closed, true)) return;
    threads.swap(state_->threads);
    state_->work.notify_all();
    bool inside = false;
    for (const std::thread& thread : threads)
      inside |= thread.get_id() == std::this_thread::get_id();
    // Closed from inside a task: this thread can not wait for its own end.
    const int others = inside ? 1 : 0;
    const bool quiet =
        state_->ended.wait_for(lock, patience_at_close, [&] { return state_->running <= others; });
    if (!quiet || inside) {
      for (std::thread& thread : threads) thread.detach();
      return;
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace mortise::runtime
