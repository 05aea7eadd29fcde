// SPDX-License-Identifier: MIT
// Goal: user code that blocks or destroys things harms nobody else (S6).
// Method: tasks meet on latches.
#include "runtime/notifier.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <semaphore>

namespace mortise::runtime {
namespace {

using namespace std::chrono_literals;

TEST(NotifierTest, EachTaskRunsOnce) {
  Notifier notifier;
  std::atomic<int> ran{0};
  constexpr int tasks = 1000;
  std::latch all(tasks);
  for (int i = 0; i < tasks; ++i) {
    notifier.post([&] {
      ran.fetch_add(1);
      all.count_down();
    });
  }
  all.wait();
  notifier.close();
  EXPECT_EQ(ran.load(), tasks);
}

TEST(NotifierTest, ABlockedTaskDoesNotDelayTheNext) {
  Notifier notifier;
  std::binary_semaphore release{0};
  std::latch others(Notifier::most_threads - 1);
  notifier.post([&] { release.acquire(); });
  for (int i = 0; i < Notifier::most_threads - 1; ++i) {
    notifier.post([&] { others.count_down(); });
  }
  others.wait();
  release.release();
}

TEST(NotifierTest, ATaskMayDestroyTheNotifier) {
  auto notifier = std::make_unique<Notifier>();
  const auto done = std::make_shared<std::latch>(1);
  Notifier& raw = *notifier;
  raw.post([owned = std::make_shared<std::unique_ptr<Notifier>>(std::move(notifier)), done] {
    owned->reset();
    done->count_down();
  });
  done->wait();
}

TEST(NotifierTest, CloseIsBoundedWhileATaskBlocks) {
  Notifier notifier;
  const auto release = std::make_shared<std::binary_semaphore>(0);
  const auto inside = std::make_shared<std::latch>(1);
  notifier.post([release, inside] {
    inside->count_down();
    release->acquire();
  });
  inside->wait();
  const auto began = std::chrono::steady_clock::now();
  notifier.close();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);
  release->release();
}

TEST(NotifierTest, NothingRunsAfterClose) {
  Notifier notifier;
  notifier.close();
  notifier.post([] { ADD_FAILURE() << "ran after close"; });
  notifier.close();
}

}  // namespace
}  // namespace mortise::runtime
