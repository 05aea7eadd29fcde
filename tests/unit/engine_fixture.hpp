// SPDX-License-Identifier: MIT
// A source for tests of the engine: requests and replies are bytes on a socketpair, whose other end
// the test answers.
#pragma once

#include "runtime/engine.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>

namespace mortise::runtime {

using namespace std::chrono_literals;

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

  [[nodiscard]] int descriptor() const noexcept override { return ours_; }
  [[nodiscard]] short interest() const noexcept override { return POLLIN; }
  [[nodiscard]] bool pushes() const noexcept override { return pushes_; }
  [[nodiscard]] bool outstanding() const noexcept override {
    const std::lock_guard lock(mutex_);
    return !asked_.empty();
  }
  void ready(short events, Instant /*now*/) override {
    EXPECT_EQ(inside_.fetch_add(1), 0) << "two threads inside one source";
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
  std::atomic<int> inside_{0};
};

inline void wait_done(Engine& engine, Operation& operation) {
  while (!operation.done()) {
    const std::uint32_t seen = operation.signal();
    if (!operation.done()) engine.wait(operation, seen, 10s);
  }
}

}  // namespace mortise::runtime
