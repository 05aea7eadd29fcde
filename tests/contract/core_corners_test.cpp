// SPDX-License-Identifier: MIT
// Goal: callers that meet in odd moments are told the truth, and may do what the headers let them
// do. Method: a backend that the test plays by hand, and an observer that acts inside of a call.
#include "support/contract_core.hpp"
#include "support/contract_test.hpp"
#include "support/contract_worker.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <new>
#include <optional>
#include <thread>

namespace mortise::contract {
namespace {

using test::Signal;

using CoreCorners = CoreAnswers;

TEST_F(CoreCorners, ATryBesideACallThatFindsNoServerIsToldSo) {
  be_kind();
  script_->on_acquire = [](const auto& operation) {
    operation->trouble({Errc::unavailable, "script: no way there"});
  };
  Client client = open({.give_up = 0ms});
  Lock lock = client.make_lock("name");
  std::stop_source stop;
  Worker worker;
  auto waits = worker.start([&] { return lock.acquire({.stop = stop.get_token()}); });
  ASSERT_TRUE(worker.falls_asleep());
  std::error_code ec;
  EXPECT_FALSE(lock.try_lock(ec));
  EXPECT_EQ(ec, Errc::unavailable) << "nobody holds the name";
  const Guard guard(lock, {.wait = 0ns}, ec);
  EXPECT_EQ(guard.error(), Errc::unavailable);
  EXPECT_NE(guard.error_text().find("no way there"), std::string::npos) << guard.error_text();
  stop.request_stop();
  EXPECT_FALSE(waits.get());
}

/// Real time, that may be ahead without anybody being told; a thread that is told to is stuck in
/// its next look.
class StickyClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override {
    if (std::exchange(sticks, false)) {
      stuck.set();
      EXPECT_TRUE(go_on.wait());
    }
    return BootClock::now() + ahead.load();
  }
  std::atomic<std::chrono::nanoseconds> ahead{0ns};
  static thread_local bool sticks;
  mutable Signal stuck;
  Signal go_on;
};
thread_local bool StickyClock::sticks = false;

// Promise: S9
TEST_F(CoreCorners, AForkedChildMayStopWhatItsParentWaitsFor) {
  be_kind();
  script_->on_acquire = [](const auto& operation) {
    operation->granted({.number = 7, .counted_from = BootClock::now(), .lease = 30s});
  };
  const auto clock = std::make_shared<StickyClock>();
  Client client(std::make_unique<ScriptedBackend>(script_), {.clock = clock});
  Lock lock = client.make_lock("name");
  const Owner owner = Owner::unique();
  ASSERT_TRUE(lock.acquire({.owner = owner}));
  std::stop_source stop;
  Worker worker;
  auto waits = worker.start([&] { return lock.acquire({.stop = stop.get_token()}); });
  ASSERT_TRUE(worker.falls_asleep());
  // Inside of the name's mutex, which nobody gives back in the child.
  Worker inside;
  auto looks = inside.start([&] {
    StickyClock::sticks = true;
    return lock.valid_for(owner);
  });
  ASSERT_TRUE(clock->stuck.wait());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(5);
    stop.request_stop();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child hangs";
  clock->go_on.set();
  EXPECT_GT(looks.get(), 0ns);
  stop.request_stop();
  EXPECT_FALSE(waits.get());
  lock.unlock(owner);
}

TEST_F(CoreCorners, ATryThatFindsTheEndOfTheLongestHoldTakesTheName) {
  be_kind();
  const auto clock = std::make_shared<StickyClock>();
  script_->on_acquire = [&](const auto& operation) {
    operation->granted({.number = ++number_, .counted_from = clock->now(), .lease = 30s});
  };
  Client client(std::make_unique<ScriptedBackend>(script_), {.clock = clock});
  Lock lock = client.make_lock("name", {.lease = 30s, .renew = false, .max_hold = 10s});
  const Owner owner = Owner::unique();
  ASSERT_TRUE(lock.acquire({.owner = owner}));
  clock->ahead = 11s;
  EXPECT_TRUE(lock.try_lock()) << "a lost hold leaves the name at once";
  ASSERT_EQ(script_->released().size(), 1U) << "and the server is told first";
  EXPECT_EQ(lock.release(owner), Released::was_lost);
  lock.unlock();
}

// Promise: S6
TEST_F(CoreCorners, AnObserverMayDestroyTheLockThatAGuardTakes) {
  be_kind();
  class Destroys final : public Observer {
   public:
    void granted(const Event&) noexcept override { lock.reset(); }
    std::optional<Lock> lock;
  };
  const auto observer = std::make_shared<Destroys>();
  Client client = open({.observer = observer});
  observer->lock = client.make_lock("name");
  Guard guard(*observer->lock);
  EXPECT_TRUE(guard);
  EXPECT_EQ(guard.name(), "name");
  EXPECT_EQ(guard.unlock(), Released::released);
}

/// What the store reports about a name that "other" holds.
NameQueue held_by_other() {
  return {.holders = {{.label = "other", .token = token_of(3)}}, .waiters_in_all = 0};
}

// The store may answer its question later, when another client has the name.
// Promise: S3
TEST_F(CoreCorners, AForcedReleaseThatIsGivenUpEndsNoHold) {
  std::shared_ptr<QueueLook> asked;
  script_->on_find = [&](const auto& operation) {
    asked = operation;
    if (operation->name() == "no memory") throw std::bad_alloc();
  };
  Client client = open();
  EXPECT_THROW(client.force_release("no memory"), std::bad_alloc);
  ASSERT_TRUE(asked);
  EXPECT_TRUE(asked->done());
  std::error_code ec;
  EXPECT_TRUE(client.force_release("name", {.wait = 1ms}, ec).empty());
  EXPECT_EQ(ec, Errc::unavailable) << "nothing was done";
  EXPECT_TRUE(asked->done());
  asked->answered(held_by_other());
  EXPECT_TRUE(script_->released().empty());
}

// Promise: S3
TEST_F(CoreCorners, AForcedReleaseOfWhichNoAnswerComesIsInDoubt) {
  script_->on_find = [](const auto& operation) { operation->answered(held_by_other()); };
  script_->on_release = nullptr;
  Client client = open();
  std::error_code ec;
  EXPECT_TRUE(client.force_release("name", {.wait = 1ms}, ec).empty());
  EXPECT_EQ(ec, Errc::in_doubt);
  ASSERT_EQ(script_->released().size(), 1U);
  EXPECT_TRUE(script_->released().front()->done()) << "a copy that has not left is not sent";
  EXPECT_EQ(script_->released().front()->hold().number, 3U);
}

// A server that stands still, which the backend owes something, and callbacks that block: each of
// them takes as long as it may.
// Promise: L4
TEST_F(CoreCorners, CloseIsBoundedThoughAllThatItWaitsForTakesItsTime) {
  be_kind();
  script_->on_release = nullptr;
  script_->on_stop = [] { std::this_thread::sleep_for(900ms); };
  class Blocks final : public Observer {
   public:
    void lost(const Event&, const Failure&) noexcept override { EXPECT_TRUE(go_on.wait()); }
    Signal go_on;
  };
  const auto observer = std::make_shared<Blocks>();
  Client client = open({.observer = observer});
  Lock lock = client.make_lock("name", {.lease = 30s, .renew = false});
  lock.lock();
  Signal go_on;
  const std::stop_callback told(lock.lost(), [&] { EXPECT_TRUE(go_on.wait()); });
  EXPECT_LT(own_duration_of([&] { client.close(); }), 2s + allowance);
  go_on.set();
  observer->go_on.set();
}

}  // namespace
}  // namespace mortise::contract
