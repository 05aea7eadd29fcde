// SPDX-License-Identifier: MIT
// A source for tests of the engine: requests and replies are bytes on a socketpair, whose other end
// the test answers.
#pragma once

#include "runtime/engine/engine.hpp"
#include "support/asleep.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <thread>

namespace mortise::runtime {

using namespace std::chrono_literals;

/// An operation that only a push completes.
class AwaitedPush final : public Check {
 public:
  [[nodiscard]] bool awaits_push() const noexcept override { return true; }
};

/// Requests are bytes; each reply byte completes the oldest request.
class EchoSource final : public Source {
 public:
  explicit EchoSource(bool pushes) : pushes_(pushes) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) std::abort();
    ours_ = pair[0];
    theirs_ = pair[1];
  }
  ~EchoSource() override {
    ::close(ours_);
    ::close(theirs_);
  }
  EchoSource(const EchoSource&) = delete;
  EchoSource& operator=(const EchoSource&) = delete;

  void request(const std::shared_ptr<Check>& operation) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(operation);
    EXPECT_EQ(::write(ours_, "?", 1), 1);
  }
  /// The other end: answers `count` requests.
  void answer(int count) const {
    char byte = 0;
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(::read(theirs_, &byte, 1), 1);
      ASSERT_EQ(::write(theirs_, "!", 1), 1);
    }
  }
  void push() const { EXPECT_EQ(::write(theirs_, "!", 1), 1); }
  void expect_push(const std::shared_ptr<Check>& operation) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(operation);
  }

  /// Has the next `ready()` throw.
  void throw_once() { throws_.store(true); }
  /// @return the threads that have read it so far.
  [[nodiscard]] std::set<std::thread::id> readers() const {
    const std::lock_guard lock(mutex_);
    return readers_;
  }

  [[nodiscard]] int descriptor() const noexcept override { return ours_; }
  [[nodiscard]] short interest() const noexcept override { return POLLIN; }
  [[nodiscard]] bool pushes() const noexcept override { return pushes_; }
  [[nodiscard]] bool outstanding() const noexcept override {
    const std::lock_guard lock(mutex_);
    return !asked_.empty();
  }
  void ready(short events, Instant /*now*/) override {
    EXPECT_EQ(inside_.fetch_add(1), 0) << "two threads inside one source";
    {
      const std::lock_guard lock(mutex_);
      readers_.insert(std::this_thread::get_id());
    }
    if (throws_.exchange(false)) {
      inside_.fetch_sub(1);
      throw std::bad_alloc();
    }
    if ((events & POLLIN) != 0) {
      char replies[64];
      const ssize_t got = ::recv(ours_, replies, sizeof replies, MSG_DONTWAIT);
      for (ssize_t i = 0; i < got; ++i) complete_oldest();
    }
    inside_.fetch_sub(1);
  }

 private:
  void complete_oldest() {
    std::shared_ptr<Check> oldest;
    {
      const std::lock_guard lock(mutex_);
      oldest = asked_.front();
      asked_.pop_front();
    }
    oldest->answered();
  }

  const bool pushes_;
  int ours_ = -1;
  int theirs_ = -1;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Check>> asked_;
  std::set<std::thread::id> readers_;
  std::atomic<int> inside_{0};
  std::atomic<bool> throws_{false};
};

/// The background thread of an engine.
class BackgroundThread {
 public:
  explicit BackgroundThread(Engine& engine) : engine_(engine) {}
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;
  ~BackgroundThread() {
    stop_.store(true);
    engine_.interrupt();
    thread_.join();
  }
  [[nodiscard]] std::thread::id id() const noexcept { return thread_.get_id(); }
  [[nodiscard]] int rounds() const noexcept { return rounds_.load(); }
  [[nodiscard]] bool sleeps() const {
    if (!test::eventually([&] { return kernel_id_.load() != 0; })) return false;
    return test::falls_asleep(kernel_id_.load(), {SYS_ppoll});
  }

 private:
  void run() {
    kernel_id_.store(static_cast<pid_t>(::syscall(SYS_gettid)));
    for (; !stop_.load(); rounds_.fetch_add(1)) engine_.background(never);
  }

  Engine& engine_;
  std::atomic<bool> stop_{false};
  std::atomic<int> rounds_{0};
  std::atomic<pid_t> kernel_id_{0};
  std::thread thread_{[this] { run(); }};
};

inline void wait_done(Engine& engine, Operation& operation) {
  while (!operation.done()) {
    const std::uint32_t seen = operation.signal();
    if (!operation.done()) engine.wait(operation, seen, 10s);
  }
}

}  // namespace mortise::runtime
