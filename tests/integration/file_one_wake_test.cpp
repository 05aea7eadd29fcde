// SPDX-License-Identifier: MIT
// Goal: a release wakes exactly one waiter, and leaves that one the first try. Method: count those
// who still sleep, and look at what a client that comes back at once is told. Only where one can
// sleep on two words: in slices a release may have every waiter try once, as the capabilities say.
#include "file/lock_file.hpp"
#include "integration/file_waiters.hpp"

#include <climits>

namespace mortise::file {
namespace {

class FileOneWakeTest : public FileWaitingTest {
 protected:
  void SetUp() override {
    if (!WakeWord::can_sleep_on_both()) GTEST_SKIP() << "no futex_waitv here";
  }
};

TEST_P(FileOneWakeTest, AReleaseWakesOneWaiter) {
  constexpr std::size_t count = 6;
  const auto holder = client();
  EXPECT_EQ(holder->backend().describe().capabilities.one_wake, Support::yes);
  const auto hold = holder->try_lock("a");
  WaitingThreads waiters;
  for (std::size_t i = 0; i < count; ++i) {
    waiters.push_back(waiter(i));
    waiters.back()->start_once();
    ASSERT_TRUE(waiters.back()->asleep());
  }
  EXPECT_EQ(holder->release(*hold), Released::released);
  // The one that has waited longest; nobody else is there to take the lock from under it.
  ASSERT_TRUE(waiters.front()->returns());
  EXPECT_TRUE(waiters.front()->granted());
  // Were another one woken, it would have come back, and were not asleep in its first wait.
  const Directory place(directory(), false);
  std::shared_ptr<LockFile> file;
  ASSERT_FALSE(LockFile::open(place, "a", file));
  EXPECT_EQ(file->sleepers()->bump_and_wake(INT_MAX), static_cast<int>(count - 1));
  for (std::size_t i = 1; i < count; ++i) {
    EXPECT_TRUE(waiters[i]->returns());
    EXPECT_FALSE(waiters[i]->granted());
  }
}

// Were the yielding client to try at once, it would win nearly always: it runs, the other one has
// to be woken first.
TEST_P(FileOneWakeTest, AYieldLetsTheWokenOneGoFirst) {
  const auto mine = client();
  int left = 0;
  int first = 0;
  constexpr int rounds = 40;
  for (int round = 0; round < rounds; ++round) {
    const auto hold = mine->lock("a", soon);
    ASSERT_TRUE(hold);
    const auto other = waiter();
    other->start();
    ASSERT_TRUE(other->asleep());
    const auto next = mine->attempt("a", true);
    // A yield, and a new request right behind a release: both are a turn for the other one.
    if (round % 2 == 0) {
      mine->release(*hold, next);
    } else {
      mine->release(*hold);
      mine->backend().acquire(next);
    }
    left += next->done() ? 0 : 1;
    ASSERT_TRUE(mine->wait(next, soon));
    ASSERT_NE(next->grant().number, 0U);
    mine->release(test::BackendUser::hold_of(*next));
    other->join();
    ASSERT_TRUE(other->in_time());
    first += other->operation().grant().number < next->grant().number ? 1 : 0;
  }
  // It leaves the lock for a millisecond only, which a busy machine may take from either side.
  EXPECT_GT(left, rounds / 2);
  EXPECT_GT(first, 0);
}

INSTANTIATE_TEST_SUITE_P(OnBoth, FileOneWakeTest, testing::Values(Sleeping::on_both));

}  // namespace
}  // namespace mortise::file
