// SPDX-License-Identifier: MIT
// Goal: it is known of each owner whether it is a thread that has ended, and never of one that
// lives. Method: real threads, and forks; the table alone, where it is full.
#include "base/live_threads.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace mortise::base {
namespace {

TEST(LiveThreads, AnOwnerThatIsNoThreadNeverEnds) {
  const Owner unique = Owner::unique();
  EXPECT_FALSE(is_thread(unique));
  EXPECT_FALSE(has_ended(unique));
  EXPECT_FALSE(has_ended(Owner()));
}

TEST(LiveThreads, AThreadLivesUntilItHasEnded) {
  EXPECT_TRUE(is_thread(Owner::this_thread()));
  EXPECT_FALSE(has_ended(Owner::this_thread()));
  Owner other;
  std::thread([&] {
    other = Owner::this_thread();
    EXPECT_FALSE(has_ended(other));
  }).join();
  EXPECT_TRUE(has_ended(other));
  EXPECT_FALSE(has_ended(Owner::this_thread()));
}

TEST(LiveThreads, AThreadIsTheSameOwnerToItsLastDestructor) {
  static Owner began;
  static Owner ended;
  struct Late {
    ~Late() { ended = Owner::this_thread(); }
  };
  std::thread([] {
    thread_local const Late late;  // before the owner, so that it goes after it
    static_cast<void>(late);
    began = Owner::this_thread();
  }).join();
  EXPECT_EQ(began, ended);
  EXPECT_TRUE(has_ended(began));
}

TEST(LiveThreads, AForkedChildKnowsItsThread) {
  const Owner here = Owner::this_thread();
  const pid_t child = ::fork();
  if (child == 0) {
    Owner there;
    std::thread([&] { there = Owner::this_thread(); }).join();
    const bool right = Owner::this_thread() == here && !has_ended(here) && has_ended(there);
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(LiveThreads, ManyAtOnceAreToldApart) {
  constexpr std::size_t many = 200;
  std::vector<Owner> owners(many);
  std::vector<std::promise<void>> go_on(many);
  std::vector<std::thread> threads;
  std::atomic<std::size_t> there{0};
  for (std::size_t i = 0; i < many; ++i) {
    threads.emplace_back([&, i] {
      owners[i] = Owner::this_thread();
      ++there;
      go_on[i].get_future().wait();
    });
  }
  while (there.load() < many) std::this_thread::yield();
  for (std::size_t i = 0; i < many; i += 2) {
    go_on[i].set_value();
    threads[i].join();
  }
  for (std::size_t i = 0; i < many; ++i) EXPECT_EQ(has_ended(owners[i]), i % 2 == 0) << i;
  for (std::size_t i = 1; i < many; i += 2) {
    go_on[i].set_value();
    threads[i].join();
  }
}

TEST(LiveThreads, WhereThereIsNoPlaceNobodyIsEntered) {
  LiveThreads<8, 4> table;
  // All of these would have the first place.
  for (std::uint64_t id = 17; id < 17 + 16 * 4; id += 16) {
    EXPECT_TRUE(table.enter(id));
    EXPECT_TRUE(table.has(id));
  }
  EXPECT_FALSE(table.enter(97));
  EXPECT_FALSE(table.has(97));
  table.leave(97);
  table.leave(33);
  EXPECT_FALSE(table.has(33));
  EXPECT_TRUE(table.has(65)) << "behind the place that is free now";
  EXPECT_TRUE(table.enter(97));
  EXPECT_TRUE(table.has(97));
}

}  // namespace
}  // namespace mortise::base
