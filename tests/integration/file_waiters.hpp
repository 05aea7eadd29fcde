// SPDX-License-Identifier: MIT
// Waiters for tests of the file backend: threads, each with a client, that never ask again by
// themselves, so that a lost wake-up costs the test its time limit.
#pragma once

#include "integration/file_fixture.hpp"
#include "support/asleep.hpp"

#include <sys/syscall.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace mortise::file {

// A client in a thread that waits for the name once.
class WaitingThread {
 public:
  WaitingThread(std::shared_ptr<test::BackendUser> user, const std::string& name)
      : user_(std::move(user)), operation_(user_->attempt(name, true)) {
    user_->backend().acquire(operation_);
  }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;
  ~WaitingThread() {
    if (thread_.joinable()) thread_.join();
  }

  /// Waits until granted or completed otherwise, and frees the name at once.
  void start() {
    thread_ = std::thread([this] {
      thread_id_.store(static_cast<pid_t>(::syscall(SYS_gettid)));
      in_time_ = user_->wait(operation_, soon);
      if (granted()) user_->release(test::BackendUser::hold_of(*operation_));
    });
  }
  /// One call of wait(), not more; a grant is kept.
  void start_once() {
    thread_ = std::thread([this] {
      const std::uint32_t seen = operation_->signal();
      thread_id_.store(static_cast<pid_t>(::syscall(SYS_gettid)));
      user_->backend().wait(*operation_, seen, soon);
      returned_.store(true);
    });
  }
  [[nodiscard]] bool asleep() const {
    const auto until = BootClock::now() + soon;
    while (thread_id_.load() == 0 && BootClock::now() < until) std::this_thread::yield();
    return test::falls_asleep(thread_id_.load(), {SYS_futex_waitv, SYS_futex});
  }
  [[nodiscard]] bool returns() const {
    const auto until = BootClock::now() + soon;
    while (!returned_.load() && BootClock::now() < until) std::this_thread::yield();
    return returned_.load();
  }
  void join() { thread_.join(); }
  void cancel() { user_->backend().cancel(operation_); }
  void stop() { user_->backend().stop(); }
  void poke() { operation_->poke(); }
  [[nodiscard]] bool in_time() const { return in_time_; }
  [[nodiscard]] bool granted() const {
    return operation_->done() && operation_->grant().number != 0;
  }
  [[nodiscard]] Acquisition& operation() { return *operation_; }

 private:
  std::shared_ptr<test::BackendUser> user_;
  std::shared_ptr<Acquisition> operation_;
  std::atomic<pid_t> thread_id_{0};
  std::atomic<bool> returned_{false};
  bool in_time_ = false;
  std::thread thread_;
};

using WaitingThreads = std::vector<std::unique_ptr<WaitingThread>>;

class FileWaitingTest : public FileTest, public testing::WithParamInterface<Sleeping> {
 protected:
  std::shared_ptr<test::BackendUser> client() const {
    Settings mine = settings();
    mine.sleeping = GetParam();
    return user(mine);
  }
  /// @param number of the client, which several waiters of a test may share one after the other
  std::unique_ptr<WaitingThread> waiter(std::size_t number = 0) {
    while (clients_.size() <= number) clients_.push_back(client());
    return std::make_unique<WaitingThread>(clients_[number], "a");
  }

 private:
  std::vector<std::shared_ptr<test::BackendUser>> clients_;
};

}  // namespace mortise::file
