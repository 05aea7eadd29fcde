// SPDX-License-Identifier: MIT
// Goal: a request that is under way when the state ends for which it was made leaves nothing behind
// at the server: no hold that nobody uses, no name that stays blocked. Method: a backend that the
// test plays by hand, on a clock in its hand.
#include "support/contract_core.hpp"
#include "support/contract_worker.hpp"

#include <thread>

namespace mortise::contract {
namespace {

using test::eventually;

class LateAnswers : public CoreAnswers {
 protected:
  /// A hold whose renewal has left and is not answered.
  void renewal_under_way(Lock& lock) {
    lock.lock();
    clock_->advance(10s);
    ASSERT_TRUE(eventually([&] { return script_->renewals.load() == 1; }));
  }
  [[nodiscard]] bool release_was_asked(std::uint64_t number) const {
    for (const auto& release : script_->released()) {
      if (release->hold().number == number) return true;
    }
    return false;
  }
};

// Promise: L1
TEST_F(LateAnswers, AHoldThatLapsesWithARenewalUnderWayIsReleased) {
  be_kind();
  Client client = open();
  Lock lock = client.make_lock("name");
  renewal_under_way(lock);
  const std::uint64_t held = number_.load();
  clock_->advance(20s);
  EXPECT_EQ(lock.valid_for(), 0ns);
  // The server may yet renew it, and would keep it for a lease that nobody uses.
  EXPECT_TRUE(eventually([&] { return release_was_asked(held); }));
  EXPECT_EQ(lock.release(), Released::was_lost);
}

TEST_F(LateAnswers, NeitherDoesARenewalWithoutAnswerCountAsOver) {
  be_kind();
  Client client = open();
  Lock lock = client.make_lock("name");
  renewal_under_way(lock);
  const std::uint64_t held = number_.load();
  // The connection broke: the request may have reached the server all the same.
  answer_renewal(Renewal::Answer::unknown, clock_->now());
  script_->on_renew = [](const auto& renewal) { renewal->answered(); };
  clock_->advance(20s);
  EXPECT_TRUE(eventually([&] { return release_was_asked(held); }));
}

TEST_F(LateAnswers, TheNextOfThisProcessAsksAfterThatRelease) {
  be_kind();
  std::atomic<bool> released_first{false};
  Client client = open();
  Lock lock = client.make_lock("name");
  renewal_under_way(lock);
  const std::uint64_t held = number_.load();
  script_->on_acquire = [&](const auto& operation) {
    released_first = release_was_asked(held);
    operation->granted(grant(++number_));
  };
  Worker next;
  auto served = next.start([&] { return lock.try_lock_for(forever); });
  ASSERT_TRUE(next.falls_asleep());
  clock_->advance(20s);
  EXPECT_TRUE(served.get());
  EXPECT_TRUE(released_first);
}

TEST_F(LateAnswers, ARenewalThatComesTooLateIsTakenBack) {
  be_kind();
  Client client = open();
  Lock lock = client.make_lock("name");
  // The answer finds the deadline passed before the watchdog has looked.
  script_->on_renew = [this](const std::shared_ptr<Renewal>& renewal) {
    const Instant asked = clock_->now();
    clock_->advance(25s);
    for (Renewal::Item& item : renewal->items()) {
      item = {.hold = item.hold, .lease = item.lease, .answer = Renewal::Answer::renewed};
      item.counted_from = asked;
      item.granted = item.lease;
    }
    renewal->answered();
  };
  lock.lock();
  const std::uint64_t held = number_.load();
  clock_->advance(10s);
  EXPECT_TRUE(eventually([&] { return release_was_asked(held); }));
  EXPECT_EQ(lock.valid_for(), 0ns);
}

TEST_F(LateAnswers, ALeaseThatWasNotRenewedEndsByItself) {
  be_kind();
  Client client = open();
  Lock lock = client.make_lock("name", {.lease = 30s, .renew = false});
  lock.lock();
  const std::stop_token lost = lock.lost();
  clock_->advance(30s);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  client.close();
  EXPECT_EQ(script_->releases.load(), 0) << "there is nothing to take back";
}

TEST_F(LateAnswers, AnUnansweredReleaseGoesOnAsLongAsALateRenewalCounts) {
  be_kind();
  script_->on_release = nullptr;
  script_->on_acquire = [this](const auto& operation) {
    operation->granted(grant(++number_, 1'200ms));
  };
  Client client = open();
  Lock lock = client.make_lock("name", {.lease = 1'200ms});
  lock.lock();
  clock_->advance(900ms);
  ASSERT_TRUE(eventually([&] { return script_->renewals.load() >= 1; }));
  EXPECT_EQ(lock.release(), Released::unknown);
  const int releases = script_->releases.load();
  // The deadline that the hold had has passed; what a late renewal brings has not.
  clock_->advance(1'000ms);
  EXPECT_TRUE(eventually([&] { return script_->releases.load() > releases; }));
}

// Whoever completes it then must not be read from by a runner that has given up: for a sanitizer of
// threads, since what orders the two is nothing but time.
TEST_F(LateAnswers, AnOutcomeThatIsConfirmedTooLateIsInDoubt) {
  be_kind();
  script_->on_recall = [](const auto& /*operation*/) {};
  script_->on_release = nullptr;
  script_->on_acquire = [this](const auto& operation) {
    Grant granted = grant(++number_);
    granted.run = 1;
    operation->granted(granted);
  };
  Client client = open();
  mortise::Run run = client.make_once("key").begin();
  ASSERT_TRUE(run);
  run.note(std::make_shared<const mortise::Record>(
      mortise::Record{.state = KeyState::succeeded, .run = 1}));
  std::atomic<bool> given_up{false};
  std::thread late([&] {
    while (script_->releases.load() == 0) std::this_thread::yield();
    const auto release = script_->released().front();
    while (!given_up.load(std::memory_order_relaxed)) std::this_thread::yield();
    release->stands();
  });
  std::error_code error;
  static_cast<void>(run.succeed({}, error));
  given_up.store(true, std::memory_order_relaxed);
  late.join();
  EXPECT_EQ(error, Errc::in_doubt);
}

}  // namespace
}  // namespace mortise::contract
