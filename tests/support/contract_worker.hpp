// SPDX-License-Identifier: MIT
// A thread that does what the test tells it to: another owner, for as long as the test wants.
#pragma once

#include "support/eventually.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace mortise::contract {

/// Runs tasks one after the other on one thread; its destructor waits for all of them.
class Worker {
 public:
  Worker() : thread_([this] { loop(); }) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// Has the task run. Unlike that of std::async, the future may be thrown away.
  template <class Task>
  auto start(Task task) -> std::future<std::invoke_result_t<Task>> {
    using Copyable = std::function<std::invoke_result_t<Task>()>;
    if constexpr (std::is_copy_constructible_v<Task>) {
      return start_one(Copyable(std::move(task)));
    } else {
      const auto shared = std::make_shared<Task>(std::move(task));
      return start_one(Copyable([shared] { return (*shared)(); }));
    }
  }
  /// Has the task run and waits for its result.
  template <class Task>
  auto run(Task task) {
    return start(std::move(task)).get();
  }

  [[nodiscard]] pthread_t handle() { return thread_.native_handle(); }

  /// Waits until the task that runs has gone to sleep: there is no other way to see from outside
  /// that a thread stands in a queue. @return false: it has ended instead, or goes on running
  [[nodiscard]] bool falls_asleep() const {
    int asleep = 0;
    return test::eventually([&] {
      asleep = busy_.load() && state() == 'S' ? asleep + 1 : 0;
      // More than once: it may stand before a mutex for a moment.
      return asleep == 10;
    });
  }

 private:
  /// One for each type of result, not of task: a test that starts tasks compiles in two thirds of
  /// the time.
  template <class Result>
  std::future<Result> start_one(std::function<Result()> task) {
    const auto packed = std::make_shared<std::packaged_task<Result()>>(std::move(task));
    std::future<Result> result = packed->get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.emplace_back([packed] { (*packed)(); });
    }
    changed_.notify_all();
    return result;
  }

  void loop() {
    tid_.store(::gettid());
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      busy_.store(true);
      task();
      busy_.store(false);
      lock.lock();
    }
  }

  /// The state of the thread as the kernel words it; 'S' = sleeps.
  [[nodiscard]] char state() const {
    std::ifstream stat("/proc/self/task/" + std::to_string(tid_.load()) + "/stat");
    std::string line;
    std::getline(stat, line);
    const std::size_t end_of_name = line.rfind(')');
    return end_of_name == std::string::npos || end_of_name + 2 >= line.size()
               ? '?'
               : line[end_of_name + 2];
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ends_ = false;
  std::atomic<bool> busy_{false};
  std::atomic<pid_t> tid_{0};
  std::thread thread_;
};

}  // namespace mortise::contract
