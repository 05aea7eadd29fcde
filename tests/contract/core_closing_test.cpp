// SPDX-License-Identifier: MIT
// Goal: close() leaves nothing at the server that nobody answers for (S9, L4). Method: a backend
// that the test plays by hand, and a waiter that stands still while others act.
#include "support/asleep.hpp"
#include "support/contract_core.hpp"
#include "support/contract_stall.hpp"
#include "support/contract_worker.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

namespace mortise::contract {
namespace {

using test::Signal;

using CoreClosing = CoreAnswers;

// An unlock that is under way gives a waiter the attempt that was sent with it. On a busy machine
// that waiter has not run by then, and nothing else is left that close() waits for.
// Promise: S9
TEST_F(CoreClosing, WaitsForAWaiterThatIsGivenAnAttemptMeanwhile) {
  be_kind();
  Signal sent;
  Signal answered;
  script_->on_release = [&](const auto& operation) {
    if (operation->successor()) {
      sent.set();
      EXPECT_TRUE(answered.wait());
      operation->successor()->granted(grant(++number_));
    }
    operation->answered(Released::released);
  };
  std::atomic<int> releases_before_the_end{0};
  script_->on_stop = [&] { releases_before_the_end.store(script_->releases.load()); };
  Client client = open({.turn_handoffs = 0});
  Lock lock = client.make_lock("name");
  const Owner owner = Owner::unique();
  ASSERT_TRUE(lock.acquire({.owner = owner}));
  Worker waiter;
  auto refused = waiter.start([&] {
    std::error_code ec;
    lock.lock(ec);
    return ec;
  });
  ASSERT_TRUE(waiter.falls_asleep());
  Worker unlocker;
  auto unlocked = unlocker.start([&] { return lock.release(owner); });
  ASSERT_TRUE(sent.wait());
  Stall stall(waiter.handle());
  ASSERT_TRUE(stall.began());
  std::promise<pid_t> number;
  std::jthread closer([&] {
    number.set_value(::gettid());
    client.close();
  });
  const pid_t closing = number.get_future().get();
  // That is where it waits for the unlock.
  EXPECT_TRUE(test::eventually([&] { return test::sleeping_in(closing) == SYS_clock_nanosleep; }));
  answered.set();
  EXPECT_EQ(unlocked.get(), Released::released);
  EXPECT_FALSE(test::eventually([&] { return script_->stopped.load(); }, 100ms));
  stall.end();
  closer.join();
  EXPECT_EQ(refused.get(), Errc::closed);
  EXPECT_EQ(releases_before_the_end.load(), 2) << "the waiter's grant stays for a whole lease";
}

}  // namespace
}  // namespace mortise::contract
