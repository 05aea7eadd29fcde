// SPDX-License-Identifier: MIT
// Goal: a call's own time counts what the call does, asleep or awake, and leaves out only what the
// machine makes it wait. Method: a computation, alone and with other processes on its processor.
#include "model/process.hpp"
#include "model/temporary.hpp"
#include "support/eventually.hpp"
#include "support/own_time.hpp"

#include <gtest/gtest.h>

#include <sched.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

std::chrono::nanoseconds processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

void compute(std::chrono::nanoseconds time) {
  const auto until = processor_time() + time;
  while (processor_time() < until) {
  }
}

/// Others that compute on the processor of this thread, as it does, until the end.
class Crowd {
 public:
  Crowd() {
    EXPECT_EQ(::sched_getaffinity(0, sizeof all_, &all_), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);  // the children's, too
    for (int i = 0; i < 3; ++i) {
      others_.push_back(model::Process::fork_child([]() -> int {
        for (;;) compute(1s);
      }));
    }
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() {
    for (auto& other : others_) other.kill();
    EXPECT_EQ(::sched_setaffinity(0, sizeof all_, &all_), 0);
  }

 private:
  cpu_set_t all_{};
  std::vector<model::Process> others_;
};

class SupportOwnTime : public ::testing::Test {
 protected:
  void SetUp() override {
    if (waits_for_processors().own.empty()) GTEST_SKIP() << "this kernel does not count it";
  }
};

TEST_F(SupportOwnTime, CountsWhatACallSleepsAndComputes) {
  EXPECT_GE(own_duration_of([] { std::this_thread::sleep_for(30ms); }), 30ms - 1ms);
  EXPECT_GE(own_duration_of([] { compute(30ms); }), 30ms - 1ms);
}

TEST_F(SupportOwnTime, LeavesOutWhatTheMachineMakesItWait) {
  const Crowd crowd;
  std::chrono::nanoseconds whole{0};
  const auto own = own_duration_of([&] { whole = duration_of([] { compute(200ms); }); });
  EXPECT_GT(whole, 2 * 200ms) << "nothing was in its way";
  EXPECT_GE(own, 200ms - 1ms);
  EXPECT_LT(own, 300ms);
}

// A child of another program is a server: a call waits for it.
TEST_F(SupportOwnTime, LeavesOutWhatTheMachineMakesAServerWait) {
  const Crowd crowd;
  const model::TemporaryDirectory directory;
  const std::string done = directory.file("done");
  const model::Process server = model::Process::spawn(
      "/bin/sh",
      {"-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; : >\"$0\"; sleep 60", done});
  std::chrono::nanoseconds whole{0};
  const auto own = own_duration_of([&] {
    whole = duration_of(
        [&] { EXPECT_TRUE(eventually([&] { return std::filesystem::exists(done); })); });
  });
  EXPECT_LT(own, whole * 3 / 4);
}

// What it waits just before and just behind a call, while its waits are read, is no part of it. (No
// upper bound: a virtual machine's processor may be taken away at any time, and nobody counts it.)
TEST_F(SupportOwnTime, LeavesOutNothingElse) {
  const Crowd crowd;
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_GE(own_duration_of([] { compute(200us); }), 200us - 40us) << i;
  }
}

}  // namespace
}  // namespace mortise::test
