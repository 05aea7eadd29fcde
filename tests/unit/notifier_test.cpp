// SPDX-License-Identifier: MIT
// Goal: user code that blocks or destroys things harms nobody else (S6).
// Method: tasks meet on latches.
#include "runtime/engine/notifier.hpp"

#include "support/eventually.hpp"
#include "support/fork_inside.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <set>
#include <thread>

namespace mortise::runtime {
namespace {

using namespace std::chrono_literals;

constexpr int most_threads = 16;

TEST(NotifierTest, EachTaskRunsOnce) {
  Notifier notifier(most_threads);
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

// Promise: S6
TEST(NotifierTest, ABlockedTaskDoesNotDelayTheNext) {
  Notifier notifier(most_threads);
  const auto release = std::make_shared<std::binary_semaphore>(0);
  std::latch others(most_threads - 1);
  notifier.post([release] { release->acquire(); });
  for (int i = 0; i < most_threads - 1; ++i) {
    notifier.post([&] { others.count_down(); });
  }
  others.wait();
  release->release();
}

TEST(NotifierTest, ATaskMayDestroyTheNotifier) {
  auto notifier = std::make_unique<Notifier>(most_threads);
  const auto done = std::make_shared<std::latch>(1);
  Notifier& raw = *notifier;
  raw.post([owned = std::make_shared<std::unique_ptr<Notifier>>(std::move(notifier)), done] {
    owned->reset();
    done->count_down();
  });
  done->wait();
}

// Promise: L4
TEST(NotifierTest, CloseIsBoundedWhileATaskBlocks) {
  Notifier notifier(most_threads);
  const auto release = std::make_shared<std::binary_semaphore>(0);
  const auto inside = std::make_shared<std::latch>(1);
  notifier.post([release, inside] {
    inside->count_down();
    release->acquire();
  });
  inside->wait();
  EXPECT_LT(test::own_duration_of([&] { notifier.close(); }), 2s);
  release->release();
}

TEST(NotifierTest, TasksBehindThoseThatBlockRunThoughItIsClosed) {
  Notifier notifier(most_threads);
  const auto release = std::make_shared<std::counting_semaphore<>>(0);
  const auto others = std::make_shared<std::latch>(3);
  for (int i = 0; i < 3; ++i) notifier.post([release] { release->acquire(); });
  for (int i = 0; i < 3; ++i) notifier.post([others] { others->count_down(); });
  notifier.close();
  EXPECT_TRUE(test::eventually([&] { return others->try_wait(); }));
  release->release(3);
}

TEST(NotifierTest, AsManyTasksMayBlockAsThereAreThreads) {
  Notifier notifier(most_threads);
  // A task may still read the semaphore when the test has ended.
  const auto release = std::make_shared<std::counting_semaphore<>>(0);
  std::latch all_inside(most_threads - 1);
  for (int i = 0; i < most_threads - 1; ++i) {
    notifier.post([&all_inside, release] {
      all_inside.count_down();
      release->acquire();
    });
  }
  all_inside.wait();
  std::latch another(1);
  notifier.post([&] { another.count_down(); });
  another.wait();
  release->release(most_threads);
}

TEST(NotifierTest, TasksThatEndAtOnceNeedNoMoreThreadsThanOneAndItsWatch) {
  Notifier notifier(most_threads);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const auto seen = [&] {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  };
  constexpr int tasks = 100;
  for (int i = 0; i < tasks; ++i) {
    std::latch done(1);
    notifier.post([&] {
      seen();
      done.count_down();
    });
    done.wait();
  }
  EXPECT_LE(threads.size(), 2U);
}

TEST(NotifierTest, WhatDoesNotFitIsDropped) {
  Notifier notifier(1, 2);
  std::binary_semaphore release{0};
  std::latch inside(1);
  std::atomic<int> ran{0};
  notifier.post([&] {
    inside.count_down();
    release.acquire();
  });
  inside.wait();
  for (int i = 0; i < 5; ++i) notifier.post([&] { ran.fetch_add(1); });
  release.release();
  notifier.close();
  EXPECT_EQ(ran.load(), 2);
}

// Promise: S9
TEST(NotifierTest, TheThreadOfATaskThatForksEndsInTheChild) {
  Notifier notifier(1);
  const pid_t parent = ::getpid();
  std::latch posted(1);
  std::latch all(2);
  std::optional<int> status;
  notifier.post([&] {
    posted.wait();
    status = test::fork_inside();
    if (status) all.count_down();
  });
  notifier.post([&] {
    if (::getpid() != parent) ::_exit(1);
    all.count_down();
  });
  posted.count_down();
  all.wait();
  EXPECT_EQ(status, 0) << "the child runs its parent's tasks, or hangs";
}

// Promise: S9
TEST(NotifierTest, TheChildOfATaskRunsNoOtherInItsLoop) {
  Notifier notifier(0);
  const pid_t parent = ::getpid();
  std::optional<int> status;
  bool other = false;
  notifier.post([&] { status = test::fork_inside(); });
  notifier.post([&] { other = true; });
  EXPECT_TRUE(notifier.run_here());
  const bool again = notifier.run_here();
  if (::getpid() != parent) ::_exit(other || again ? 1 : 0);
  EXPECT_EQ(status, 0) << "the child runs its parent's tasks, or hangs";
  EXPECT_TRUE(other);
}

TEST(NotifierTest, KnowsWhoIsInsideOfATask) {
  Notifier notifier(most_threads);
  EXPECT_FALSE(Notifier::inside());
  std::atomic<bool> inside{false};
  std::latch done(1);
  notifier.post([&] {
    inside = Notifier::inside();
    done.count_down();
  });
  done.wait();
  EXPECT_TRUE(inside);
}

TEST(NotifierTest, NothingRunsAfterClose) {
  Notifier notifier(most_threads);
  notifier.close();
  notifier.post([] { ADD_FAILURE() << "ran after close"; });
  notifier.close();
}

}  // namespace
}  // namespace mortise::runtime
