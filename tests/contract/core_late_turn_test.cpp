// SPDX-License-Identifier: MIT
// Goal: whoever waited behind others of its own process, and had no time left to hear from the
// server, is told that somebody else held the name, and not that the store cannot be reached.
// Method: a backend that does not answer the second request; the clock is in the test's hand.
#include "support/asleep.hpp"
#include "support/contract_core.hpp"
#include "support/eventually.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <future>
#include <thread>

namespace mortise::contract {
namespace {

class CoreLateTurn : public CoreAnswers {
 protected:
  // A call that has a second, `before` of it behind another thread's hold, and asks for the rest.
  std::error_code wait_behind(std::chrono::milliseconds before) {
    be_kind();
    // Less than half of it is left then: too little to be passed on.
    const auto lease = before * 3 / 2;
    script_->on_acquire = [this, lease](const auto& operation) {
      if (script_->acquires.load() == 1) operation->granted(grant(1, lease));
    };
    Client client = open();
    const LockOptions terms{.lease = lease, .renew = false};
    Lock lock = client.make_lock("name", terms);
    lock.lock();
    std::error_code error;
    std::promise<pid_t> number;
    std::thread waiter([&] {
      number.set_value(::gettid());
      EXPECT_FALSE(client.make_lock("name", terms).acquire({.wait = 1s}, error));
    });
    const pid_t thread = number.get_future().get();
    EXPECT_TRUE(test::falls_asleep(thread, {SYS_futex}));
    clock_->advance(before);
    lock.unlock();
    EXPECT_TRUE(test::eventually([&] { return script_->releases.load() == 1; }));
    EXPECT_TRUE(test::falls_asleep(thread, {SYS_futex}));
    clock_->advance(1s - before);
    waiter.join();
    return error;
  }
};

TEST_F(CoreLateTurn, BehindOthersOfTheProcessIsATimeout) {
  EXPECT_EQ(wait_behind(950ms), Errc::timeout);
}

TEST_F(CoreLateTurn, AServerThatHadItsTimeAndSaidNothingIsUnavailable) {
  EXPECT_EQ(wait_behind(80ms), Errc::unavailable);
}

}  // namespace
}  // namespace mortise::contract
