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

class CoreClosing : public CoreAnswers {
 protected:
  void close_with_a_stalled_waiter();
  /// The time that close() gives to what is under way is this long.
  static constexpr std::chrono::milliseconds well_within{800};
  std::chrono::nanoseconds took_{0};
  bool stopped_too_early_ = false;
  int releases_before_the_end_ = 0;
  std::error_code refused_;
};

void CoreClosing::close_with_a_stalled_waiter() {
  script_ = std::make_shared<Script>();
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
  const auto began = std::chrono::steady_clock::now();
  const pid_t closing = number.get_future().get();
  // The thread that closes waits there for the unlock. A short wait for a mutex looks the same. The
  // test then only answers earlier.
  EXPECT_TRUE(test::eventually([&] { return test::sleeping_in(closing) == SYS_futex; }));
  answered.set();
  EXPECT_EQ(unlocked.get(), Released::released);
  stopped_too_early_ = test::happens_within([&] { return script_->stopped.load(); }, 100ms);
  took_ = std::chrono::steady_clock::now() - began;
  stall.end();
  closer.join();
  refused_ = refused.get();
  releases_before_the_end_ = releases_before_the_end.load();
}

// A release that is in flight gives a waiter the attempt that was sent with it. On a busy machine
// the waiter's thread has not run by then, and close() waits for nothing else. close() waits for a
// bounded time, so a round in which the machine took longer proves nothing.
// Promise: S9
TEST_F(CoreClosing, WaitsForAWaiterThatIsGivenAnAttemptMeanwhile) {
  ASSERT_TRUE(test::eventually([&] {
    close_with_a_stalled_waiter();
    return took_ < well_within;
  }));
  EXPECT_FALSE(stopped_too_early_);
  EXPECT_EQ(refused_, Errc::closed);
  EXPECT_EQ(releases_before_the_end_, 2) << "the waiter's grant stays for a whole lease";
}

}  // namespace
}  // namespace mortise::contract
