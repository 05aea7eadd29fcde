// SPDX-License-Identifier: MIT
// Goal: whatever a backend answers, late, twice, wrongly or not at all, the core keeps the
// contract: no orphaned grant (S5), no revived one (S4), no forgotten waiter, honest errors.
// Method: a backend that the test plays by hand, on a clock in its hand.
#include "support/contract_core.hpp"
#include "support/contract_worker.hpp"

#include <future>
#include <new>
#include <string>
#include <vector>

namespace mortise::contract {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::patience;

// Promise: S2
TEST_F(CoreAnswers, TokensCountGrantsAndHandOvers) {
  be_kind();
  Client client = open({.turn = 10s});
  Lock lock = client.make_lock("name");
  lock.lock();
  EXPECT_EQ(lock.token().value(), 1001U * 1024);
  Worker worker;
  auto next = worker.start([&] {
    const std::lock_guard hold(lock);
    return lock.token().value();
  });
  ASSERT_TRUE(worker.falls_asleep());
  lock.unlock();
  EXPECT_EQ(next.get(), 1001U * 1024 + 1);
}

TEST_F(CoreAnswers, WhatCanNotGetBetterFailsAtOnce) {
  for (const Errc errc :
       {Errc::denied, Errc::misconfigured, Errc::unsupported, Errc::protocol, Errc::exhausted}) {
    script_->on_acquire = [&](const auto& operation) { operation->failed({errc, "script: no"}); };
    Client client = open();
    Lock lock = client.make_lock("name");
    std::error_code ec;
    lock.lock(ec);
    EXPECT_EQ(ec, errc) << "however long the caller would wait";
    try {
      const Guard guard(lock);
      ADD_FAILURE() << "no exception";
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), errc);
      EXPECT_EQ(std::string(error.what()).find("script: no"), 0U) << error.what();
    }
    EXPECT_EQ(script_->cancels.load(), 0);
  }
}

TEST_F(CoreAnswers, AnImpossibleGrantNumberIsGivenBack) {
  be_kind();
  for (const std::uint64_t number : {std::uint64_t{1} << 53U, ~std::uint64_t{0}}) {
    script_->on_acquire = [=, this](const auto& operation) { operation->granted(grant(number)); };
    Client client = open();
    Lock lock = client.make_lock("name");
    std::error_code ec;
    lock.lock(ec);
    EXPECT_EQ(ec, Errc::protocol);
    EXPECT_EQ(lock.hold_count(), 0U);
    EXPECT_EQ(script_->released().back()->hold().number, number);
  }
}

TEST_F(CoreAnswers, TheFirstAnswerCounts) {
  be_kind();
  script_->on_acquire = [&](const auto& operation) {
    operation->granted(grant(7));
    operation->busy(std::nullopt);
    operation->granted(grant(8));
    operation->failed({Errc::denied, "script"});
  };
  Client client = open();
  Lock lock = client.make_lock("name");
  lock.lock();
  EXPECT_EQ(lock.token().value(), 7U * 1024);
  lock.unlock();
}

// Promise: S5
TEST_F(CoreAnswers, AGrantAfterTheCallerHasLeftIsReleasedOnce) {
  script_->on_release = [](const auto& operation) { operation->answered(Released::released); };
  Client client = open();
  Lock lock = client.make_lock("name");
  std::error_code ec;
  std::stop_source stop;
  Worker worker;
  auto outcome = worker.start([&] { return lock.acquire({.stop = stop.get_token()}, ec); });
  ASSERT_TRUE(eventually([&] { return script_->acquires.load() == 1; }));
  stop.request_stop();
  EXPECT_FALSE(outcome.get());
  EXPECT_EQ(ec, Errc::cancelled);
  EXPECT_EQ(script_->cancels.load(), 1);
  EXPECT_EQ(script_->releases.load(), 0);
  const auto late = script_->asked().front();
  late->granted(grant(42));
  ASSERT_EQ(script_->releases.load(), 1) << "an orphaned grant holds the name";
  EXPECT_EQ(script_->released().front()->hold().attempt, late->request().attempt);
  EXPECT_EQ(script_->released().front()->hold().number, 42U);
  EXPECT_EQ(lock.hold_count(), 0U);
}

TEST_F(CoreAnswers, AGrantInAnswerToTheCancelIsTaken) {
  be_kind();
  script_->on_acquire = nullptr;
  script_->on_cancel = [this](const auto& operation) { operation->granted(grant(5)); };
  Client client = open();
  Lock lock = client.make_lock("name");
  std::stop_source stop;
  Worker worker;
  const Owner owner = Owner::unique();
  auto outcome =
      worker.start([&] { return lock.acquire({.stop = stop.get_token(), .owner = owner}); });
  ASSERT_TRUE(eventually([&] { return script_->acquires.load() == 1; }));
  stop.request_stop();
  EXPECT_TRUE(outcome.get()) << "it was too late, the name is ours";
  EXPECT_EQ(lock.hold_count(owner), 1U);
  EXPECT_EQ(lock.release(owner), Released::released);
  EXPECT_EQ(script_->releases.load(), 1);
}

// Promise: L3
TEST_F(CoreAnswers, AnAbandonedAttemptIsCancelledUntilItIsGone) {
  script_->on_release = [](const auto& operation) { operation->answered(Released::released); };
  Client client = open();
  Lock lock = client.make_lock("name");
  Worker worker;
  std::stop_source stop;
  auto outcome = worker.start([&] { return lock.acquire({.stop = stop.get_token()}); });
  ASSERT_TRUE(eventually([&] { return script_->acquires.load() == 1; }));
  stop.request_stop();
  EXPECT_FALSE(outcome.get());
  for (int cancels = 2; cancels <= 4; ++cancels) {
    clock_->advance(1s);
    ASSERT_TRUE(eventually([&] { return script_->cancels.load() >= cancels; }));
  }
  script_->asked().front()->busy(std::nullopt);
  EXPECT_EQ(script_->releases.load(), 0);
}

// Promise: S5
TEST_F(CoreAnswers, AnUnansweredRequestIsAskedAgainUnderTheSameAttempt) {
  be_kind();
  script_->on_acquire = nullptr;
  Client client = open();
  Lock lock = client.make_lock("name", {.lease = 3s});  // command time-out: 500 ms
  Worker worker;
  auto outcome = worker.start([&] {
    lock.lock();
    lock.unlock();
  });
  ASSERT_TRUE(worker.falls_asleep());
  EXPECT_EQ(script_->acquires.load(), 1);
  clock_->advance(500ms);
  ASSERT_TRUE(eventually([&] { return script_->acquires.load() == 2; }));
  const auto attempt = script_->asked().front();
  EXPECT_EQ(script_->asked().back(), attempt);
  attempt->queued(Holder{.label = "somebody"});
  ASSERT_TRUE(worker.falls_asleep());
  clock_->advance(999ms);
  ASSERT_TRUE(worker.falls_asleep());
  EXPECT_EQ(script_->acquires.load(), 2) << "who was told to wait is asked each second only";
  clock_->advance(1ms);
  ASSERT_TRUE(eventually([&] { return script_->acquires.load() == 3; }));
  EXPECT_EQ(script_->asked().back(), attempt);
  attempt->granted(grant(9));
  EXPECT_NO_THROW(outcome.get());
}

// Promise: L2
TEST_F(CoreAnswers, ASuccessorIsAskedAgainOnTheSameSchedule) {
  // A waiter that leaves each half second must not keep the re-check from ever coming.
  be_kind();
  script_->on_acquire = [](const auto& operation) { operation->queued(std::nullopt); };
  Client client = open();
  Lock lock = client.make_lock("name");
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<bool>> outcomes;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(std::make_unique<Worker>());
    outcomes.push_back(
        workers.back()->start([&lock, i] { return lock.acquire({.wait = 600ms * (i + 1)}); }));
    ASSERT_TRUE(workers.back()->falls_asleep());
  }
  for (std::size_t i = 0; i < 3; ++i) {
    clock_->advance(600ms);
    EXPECT_FALSE(outcomes[i].get());
    ASSERT_TRUE(workers[i + 1]->falls_asleep());
  }
  EXPECT_GE(script_->acquires.load(), 2) << "1.8 s have passed";
  EXPECT_EQ(script_->cancels.load(), 0);
  clock_->advance(600ms);
  EXPECT_FALSE(outcomes[3].get());
}

TEST_F(CoreAnswers, AProvisionalLeaseIsRaisedEvenWithoutRenewal) {
  be_kind();
  script_->on_acquire = [this](const auto& operation) { operation->granted(grant(3, 2s)); };
  Client client = open();
  Lock lock = client.make_lock("name", {.lease = 30s, .renew = false});
  lock.lock();
  EXPECT_LT(lock.valid_for(), 2s);
  clock_->advance(667ms);
  ASSERT_TRUE(eventually([&] { return script_->renewals.load() == 1; }));
  EXPECT_EQ(script_->renewal()->items().front().lease, 30s);
  answer_renewal(Renewal::Answer::renewed, clock_->now());
  EXPECT_GT(lock.valid_for(), 29s);
  clock_->advance(29s);
  EXPECT_GT(lock.valid_for(), 0ns);
  clock_->advance(1s);
  ASSERT_TRUE(eventually([&] { return lock.lost().stop_requested(); }));
  EXPECT_EQ(script_->renewals.load(), 1) << "it was not to be renewed";
}

// Promise: S4
TEST_F(CoreAnswers, ALateRenewalRevivesNothing) {
  be_kind();
  Client client = open();
  Lock lock = client.make_lock("name");
  lock.lock();
  clock_->advance(10s);
  ASSERT_TRUE(eventually([&] { return script_->renewals.load() >= 1; }));
  const Instant asked = clock_->now();
  clock_->advance(25s);
  EXPECT_EQ(lock.valid_for(), 0ns);
  answer_renewal(Renewal::Answer::renewed, asked);
  EXPECT_EQ(lock.valid_for(), 0ns) << "a lapsed hold came back";
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }));
  EXPECT_EQ(lock.release(), Released::was_lost);
}

// Promise: S3
TEST_F(CoreAnswers, ARenewalOfAnEndedHoldIsNoBusinessOfTheNext) {
  be_kind();
  Client client = open();
  Lock lock = client.make_lock("name");
  lock.lock();
  clock_->advance(10s);
  ASSERT_TRUE(eventually([&] { return script_->renewals.load() == 1; }));
  lock.unlock();
  lock.lock();
  const auto before = lock.valid_for();
  answer_renewal(Renewal::Answer::lost, clock_->now());
  EXPECT_EQ(lock.valid_for(), before);
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(CoreAnswers, ARenewalNeverShortensAHold) {
  be_kind();
  Client client = open();
  Lock lock = client.make_lock("name");
  lock.lock();
  const Instant granted = clock_->now();
  const Instant deadline = granted + lock.valid_for();
  clock_->advance(10s);
  ASSERT_TRUE(eventually([&] { return script_->renewals.load() == 1; }));
  answer_renewal(Renewal::Answer::renewed, granted, 1s);
  EXPECT_EQ(clock_->now() + lock.valid_for(), deadline);
  lock.unlock();
}

TEST_F(CoreAnswers, TheServersWordEndsAHoldAtOnce) {
  be_kind();
  Client client = open();
  Lock lock = client.make_lock("name");
  lock.lock();
  const HoldId hold{.name = "name",
                    .attempt = script_->asked().back()->request().attempt,
                    .number = number_.load()};
  HoldId other = hold;
  ++other.number;
  script_->host.load()->hold_lost(other, {Errc::lost, "not this one"});
  EXPECT_GT(lock.valid_for(), 0ns);
  script_->host.load()->hold_lost({.name = "other name"}, {Errc::lost, "nor this one"});
  script_->host.load()->hold_lost(hold, {Errc::lost, "deleted"});
  EXPECT_EQ(lock.valid_for(), 0ns);
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }));
  script_->host.load()->hold_lost(hold, {Errc::lost, "deleted"});
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(script_->releases.load(), 0);
}

TEST_F(CoreAnswers, AReleaseIsRepeatedAndBelieved) {
  be_kind();
  Client client = open();
  Lock lock = client.make_lock("name", {.lease = 1'200ms});
  // The first answer is lost; the second finds nothing, because the first one worked.
  script_->on_release = [this](const auto& operation) {
    if (script_->releases.load() % 2 == 0) operation->answered(Released::was_lost);
  };
  lock.lock();
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(script_->releases.load(), 2);
  EXPECT_EQ(script_->released()[0], script_->released()[1]);
}

TEST_F(CoreAnswers, AReleaseWithoutAnswerIsUnknownAndGoesOn) {
  be_kind();
  script_->on_release = nullptr;
  Client client = open();
  Lock lock = client.make_lock("name", {.lease = 6s});
  lock.lock();
  EXPECT_EQ(lock.release(), Released::unknown);
  EXPECT_EQ(lock.hold_count(), 0U);
  const int releases = script_->releases.load();
  clock_->advance(1s);
  EXPECT_TRUE(eventually([&] { return script_->releases.load() > releases; }));
  lock.lock();
  EXPECT_EQ(lock.hold_count(), 1U) << "the owner may go on as if it had been released";
}

TEST_F(CoreAnswers, ABackendThatRunsOutOfMemoryLeavesTheNameUsable) {
  be_kind();
  const auto kind = script_->on_acquire;
  Client client = open();
  Lock lock = client.make_lock("name");
  script_->on_acquire = [](const auto&) { throw std::bad_alloc(); };
  EXPECT_THROW(lock.lock(), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(lock.try_lock()), std::bad_alloc);
  EXPECT_EQ(lock.hold_count(), 0U);
  script_->on_acquire = kind;
  ASSERT_TRUE(lock.try_lock()) << "the failed call still stands in the way";
  script_->on_release = [](const auto&) { throw std::bad_alloc(); };
  EXPECT_EQ(lock.release(), Released::unknown) << "unlock() and destructors must not throw";
  be_kind();
  Worker worker;
  EXPECT_TRUE(worker.run([&] { return lock.try_lock(); }))
      << "the failed release stands in the way";
}

TEST_F(CoreAnswers, TroubleThatEndsJustInTimeIsNoContention) {
  // give_up ends a wait without limit because of trouble. Where the trouble ends at that moment
  // there is no reason left, and least of all a time-out, which lock() could only throw.
  be_kind();
  script_->on_acquire = nullptr;
  Client client(std::make_unique<ScriptedBackend>(script_), {.give_up = 1ms});
  Lock lock = client.make_lock("name");
  for (int i = 0; i < 300; ++i) {
    Worker worker;
    const int before = script_->acquires.load();
    auto outcome = worker.start([&] {
      std::error_code ec;
      lock.lock(ec);
      if (!ec) lock.unlock();
      return ec;
    });
    ASSERT_TRUE(eventually([&] { return script_->acquires.load() > before; }));
    const auto attempt = script_->asked().back();
    attempt->trouble({Errc::unavailable, "script: gone"});
    std::this_thread::sleep_for(std::chrono::microseconds(900 + i));
    attempt->trouble({});
    std::this_thread::yield();
    attempt->granted({.number = ++number_, .counted_from = BootClock::now(), .lease = 30s});
    const std::error_code ec = outcome.get();
    EXPECT_TRUE(!ec || ec == Errc::unavailable) << ec.message();
  }
}

TEST_F(CoreAnswers, AStoreHasTimeToAnswerForThousandsOfNames) {
  constexpr int wanted = 3'000;
  be_kind();
  script_->on_acquire = nullptr;
  Client client = open();
  std::vector<std::string> names;
  for (int i = 0; i < wanted; ++i) names.push_back("name " + std::to_string(i));
  auto taken = std::async(std::launch::async, [&] {
    return static_cast<bool>(
        lock_all(client, names, {.wait = 60s}, {.lease = 30s, .renew = false}));
  });
  ASSERT_TRUE(eventually([&] { return script_->acquires >= wanted; }));
  clock_->advance(3s);
  // Each request is repeated, or given up.
  ASSERT_TRUE(eventually([&] { return script_->acquires >= 2 * wanted || script_->cancels > 0; }));
  for (const auto& each : script_->asked()) each->granted(grant(++number_));
  const bool in_time = taken.wait_for(patience) == std::future_status::ready;
  client.close();
  EXPECT_TRUE(taken.get() && in_time) << "it begins again and again";
}

}  // namespace
}  // namespace mortise::contract
