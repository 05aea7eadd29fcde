// SPDX-License-Identifier: MIT
// Goal: a process that stands still, also beyond the lease of its hold, knows that it holds nothing
// before it can do anything, and is told so (S6). Method: SIGSTOP of the holder, while another one
// takes the lock.
#include <mortise/clock.hpp>

#include "fault/own_server.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"

#include <atomic>
#include <thread>

namespace mortise::fault {
namespace {

/// What the holder has seen; times are of the boot clock.
struct Seen {
  std::atomic<std::uint64_t> token{0};
  std::atomic<bool> told{false};
  std::atomic<std::int64_t> took{-1};
  std::atomic<std::int64_t> left{-1};
  std::atomic<int> released{-1};
};

std::int64_t time_of_boot_clock() { return BootClock::now().time_since_epoch().count(); }

/// Looks at the clock until a gap between two looks says that it has stood still so long.
/// @param last its look before this one
void stand_still(const Guard& guard, std::chrono::nanoseconds at_least, std::int64_t last,
                 const contract::Shared<Seen>& seen) {
  for (;;) {
    const std::int64_t now = time_of_boot_clock();
    const std::int64_t left = guard.valid_for().count();
    if (now - last > at_least.count()) {
      seen->left = left;
      return;
    }
    last = now;
    std::this_thread::sleep_for(1ms);
  }
}

// Promise: S6
MORTISE_TEST(Pauses, AHolderThatStoodStillBeyondItsLeaseIsToldWhenItGoesOn) {
  const std::chrono::milliseconds lease = ground().short_lease;
  const contract::Shared<Seen> seen;
  const contract::Line holds;
  const contract::Line ends;
  model::Process holder = model::Process::fork_child([&] {
    Client mine = client(lease);
    Lock lock = mine.make_lock("a", server().hold(lease));
    const Guard guard(lock);
    seen->token = guard.token().value();
    const std::stop_callback told(guard.lost(), [&] { seen->told = true; });
    const std::int64_t before = time_of_boot_clock();  // it may be stopped right after it tells
    holds.tell('h');
    stand_still(guard, lease / 2, before, seen);
    const auto is_told = [&] { return seen->told.load(); };
    seen->took = own_duration_of([&] { static_cast<void>(eventually(is_told)); }).count();
    if (!is_told()) return 1;
    seen->released = static_cast<int>(lock.release());
    ends.tell('e');
    static_cast<void>(contract::Line().hear(std::chrono::minutes(5)));
    return 0;
  });
  ASSERT_EQ(holds.hear(patience), 'h');
  ASSERT_TRUE(holder.stop());
  Client mine = client();
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(taken_within(lock, lease + 1s));
  const Token token = lock.token();
  EXPECT_GT(token.value(), seen->token.load());
  holder.resume();
  ASSERT_EQ(ends.hear(patience), 'e');
  EXPECT_EQ(seen->left.load(), 0) << "it believed itself the holder";
  EXPECT_LT(std::chrono::nanoseconds(seen->took.load()), 50ms + slack);
  EXPECT_EQ(seen->released.load(), static_cast<int>(Released::was_lost));
  // Its release and its renewals have changed nothing.
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes_free(mine, "a", 1s));
}

}  // namespace
}  // namespace mortise::fault
