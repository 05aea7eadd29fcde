// SPDX-License-Identifier: MIT
// Goal: a list of the memory server keeps nobody waiting, and misses no name although its table
// grows under it. Method: a table that another thread makes many times larger while it is listed.
#include "memory/store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace mortise::memory {
namespace {

using namespace std::chrono_literals;

class MemoryListing : public ::testing::Test {
 protected:
  void hold(const std::string& name) {
    const Answer answer = store_->acquire(
        {.attempt = {.client_high = 1, .sequence = ++attempts_}, .name = name, .lease = 1h},
        nullptr);
    ASSERT_TRUE(answer.grant) << name;
  }

  std::shared_ptr<Store> store_ = std::make_shared<Store>(Clock::real());

 private:
  std::atomic<std::uint64_t> attempts_{0};
};

TEST_F(MemoryListing, MissesNoNameWhileTheTableGrows) {
  std::vector<std::string> names;
  for (int i = 0; i < 900; ++i) {
    names.push_back("held/" + std::to_string(i));
    hold(names.back());
  }
  std::sort(names.begin(), names.end());
  std::atomic<bool> grown{false};
  std::thread others([&] {
    for (int i = 0; i < 60'000; ++i) hold("other/" + std::to_string(i));
    grown.store(true);
  });
  do {
    const NamePage page = store_->list(Listing("held/", "", 1'000));
    EXPECT_EQ(page.names, names);
    EXPECT_EQ(page.cursor, "");
  } while (!grown.load() && !HasFailure());
  others.join();
}

// With the mutex all the time the other thread would wait for a whole pass each time.
TEST_F(MemoryListing, LetsOthersInBetween) {
  for (int i = 0; i < 50'000; ++i) hold("n" + std::to_string(i));
  std::atomic<bool> listed{false};
  const std::uint64_t before = store_->requests();
  std::thread lister([&] {
    static_cast<void>(store_->list(Listing("", "", 1'000)));
    listed.store(true);
  });
  while (store_->requests() == before) std::this_thread::yield();  // it has begun
  int looks = 0;
  while (!listed.load()) {
    static_cast<void>(store_->holder("n1"));
    ++looks;
  }
  lister.join();
  EXPECT_GT(looks, 3);
}

}  // namespace
}  // namespace mortise::memory
