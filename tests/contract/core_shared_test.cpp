// SPDX-License-Identifier: MIT
// Goal: the core asks a backend the right things about readers, and heeds what it answers. Method:
// the test plays the backend by hand, and owns the clock.
#include "support/contract_core.hpp"
#include "support/contract_worker.hpp"

#include <future>
#include <string>
#include <vector>

namespace mortise::contract {
namespace {

class CoreShared : public CoreAnswers {
 protected:
  CoreShared() {
    script_->can.shared_mode = Support::yes;
    be_kind();
  }
  static LockOptions reading() { return {.lease = 30s, .mode = Mode::shared}; }
  /// @return whether an owner that comes now has the name as a reader; then it gives it back.
  bool joins(Lock& lock) {
    const Owner somebody = Owner::unique();
    const bool joined = lock.acquire({.wait = 0ns, .owner = somebody});
    if (joined) lock.unlock(somebody);
    return joined;
  }
  void answer(bool wanted) {
    const auto renewal = script_->renewal();
    for (Renewal::Item& item : renewal->items()) item.wanted = wanted;
    answer_renewal(Renewal::Answer::renewed, clock_->now());
  }
  /// One that wants the name as well, whose reader has had its turn while others wait elsewhere.
  struct KeptOut {
    explicit KeptOut(CoreShared& test)
        : client(test.open({.turn = 5ms})), lock(client.make_lock("name", reading())) {
      lock.lock();
      test.clock_->advance(5ms);
      EXPECT_TRUE(test.joins(lock));
      test.answer(true);
      waits = late.start([this] {
        const bool got = lock.try_lock_for(1h);
        lock.unlock();
        return got;
      });
    }
    Client client;
    Lock lock;
    std::future<bool> waits;
    Worker late;
  };
};

TEST_F(CoreShared, ABackendWithoutReadersHasNoHandleForThem) {
  script_->can.shared_mode = Support::no;
  Client client = open();
  const auto refused = [](auto make) {
    try {
      make();
      ADD_FAILURE() << "it was made";
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::unsupported);
      EXPECT_NE(std::string(error.what()).find("shared locks"), std::string::npos) << error.what();
    }
  };
  refused([&] { static_cast<void>(client.make_lock("name", reading())); });
  refused([&] { static_cast<void>(client.make_read_write_lock("name")); });
}

// Two threads use one owner. The reader would wait for the end of its own owner's hold.
// Promise: L2
TEST_F(CoreShared, AReaderGoesOnOnceItsOwnerHasTheNameInAnotherThread) {
  Client client = open({.turn = 10s});
  Lock lock = client.make_lock("name");
  Lock reader = client.make_lock("name", reading());
  const Owner owner = Owner::unique();
  script_->on_release = [this](const auto& release) {
    if (const auto& next = release->successor()) next->granted(grant(++number_));
    release->answered(Released::released);
  };
  Worker writes;
  Worker reads;
  lock.lock();
  auto written = writes.start([&] { return lock.acquire({.owner = owner}); });
  ASSERT_TRUE(writes.falls_asleep());
  auto read = reads.start([&] { return reader.acquire({.owner = owner}); });
  ASSERT_TRUE(reads.falls_asleep());
  lock.unlock();
  EXPECT_TRUE(written.get());
  EXPECT_EQ(read.wait_for(test::patience), std::future_status::ready);
  lock.unlock(owner);
  EXPECT_TRUE(read.get());
  reader.unlock(owner);
}

TEST_F(CoreShared, EveryRequestSaysTheMode) {
  Client client = open();
  ReadWriteLock lock = client.make_read_write_lock("name");
  lock.lock();
  lock.lock_shared();
  lock.unlock();
  lock.unlock_shared();
  const auto asked = script_->asked();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0]->request().mode, Mode::exclusive);
  EXPECT_FALSE(asked[0]->request().beside);
  EXPECT_EQ(asked[1]->request().mode, Mode::shared);
  EXPECT_EQ(asked[1]->request().beside, asked[0]->request().attempt);
  const auto released = script_->released();
  ASSERT_EQ(released.size(), 2U);
  EXPECT_EQ(released[0]->hold().mode, Mode::exclusive);
  EXPECT_EQ(released[1]->hold().mode, Mode::shared);
  EXPECT_EQ(released[1]->hold().attempt, asked[1]->request().attempt);
}

TEST_F(CoreShared, AnAttemptBesideAnOwnersHoldIsNobodyElses) {
  Client client = open();
  ReadWriteLock lock = client.make_read_write_lock("name");
  lock.lock();
  script_->on_acquire = [](const auto& operation) { operation->queued(std::nullopt); };
  Worker other;
  Lock theirs = client.make_lock("name", {.mode = Mode::shared});
  auto waits = other.start([&] { return theirs.try_lock_for(1h); });
  ASSERT_TRUE(other.falls_asleep());
  Worker self;
  const Owner me = Owner::this_thread();
  auto gives_up = self.start([&] { return lock.reader().acquire({.wait = 5s, .owner = me}); });
  ASSERT_TRUE(test::eventually([&] { return script_->acquires.load() == 2; }));
  const auto attempt = script_->asked().back();
  clock_->advance(5s);
  EXPECT_FALSE(gives_up.get());
  EXPECT_GE(script_->cancels.load(), 1) << "it went to a reader who may not hold beside its owner";
  EXPECT_TRUE(attempt->done());
  client.close();
  EXPECT_THROW(waits.get(), Error);
}

// Promise: S1
TEST_F(CoreShared, TheHoldThatAReaderIsAskedForBesideIsNotPassedOn) {
  Client client = open({.turn = 1h});
  ReadWriteLock lock = client.make_read_write_lock("name");
  const Owner me = Owner::this_thread();
  lock.lock();
  Worker other;
  auto waits = other.start([&] {
    const bool got = lock.writer().try_lock_for(1h);
    lock.unlock();
    return got;
  });
  ASSERT_TRUE(other.falls_asleep());
  script_->on_acquire = [](const auto& operation) { operation->queued(std::nullopt); };
  Worker twin;
  auto reads = twin.start([&] { return lock.reader().acquire({.wait = 1h, .owner = me}); });
  ASSERT_TRUE(test::eventually([&] { return script_->acquires.load() == 2; }));
  const auto beside = script_->asked().back();
  lock.unlock();
  EXPECT_EQ(script_->released().size(), 1U) << "another owner has the hold that is read beside";
  if (HasFailure()) return client.close();
  beside->granted(grant(++number_));
  EXPECT_TRUE(reads.get());
  EXPECT_EQ(waits.wait_for(0s), std::future_status::timeout);
  be_kind();
  lock.reader().unlock(me);
  const auto last = script_->released().back();
  ASSERT_TRUE(last->successor());
  last->successor()->granted(grant(++number_));
  EXPECT_TRUE(waits.get());
}

// Promise: L2
TEST_F(CoreShared, AReaderThatIsKeptOutLearnsThatNobodyWaitsAnyMore) {
  KeptOut kept_out(*this);
  Lock& lock = kept_out.lock;
  ASSERT_TRUE(kept_out.late.falls_asleep());
  // Whoever waited has given up, and the first reader reads on.
  for (int second = 1; second <= 3; ++second) {
    const int before = script_->renewals.load();
    clock_->advance(1s);
    EXPECT_TRUE(test::eventually([&] { return script_->renewals.load() == before + 1; })) << second;
    answer(second < 3);
  }
  EXPECT_EQ(kept_out.waits.wait_for(5s), std::future_status::ready)
      << "it sleeps although it could read";
  if (HasFailure()) return kept_out.client.close();
  EXPECT_TRUE(kept_out.waits.get());
  const int before = script_->renewals.load();
  clock_->advance(2s);
  EXPECT_TRUE(joins(lock));
  EXPECT_LE(script_->renewals.load(), before + 1) << "nobody is kept out";
}

// Promise: L2
TEST_F(CoreShared, AReaderHasANameAsSoonAsItIsKeptNoMore) {
  script_->can.min_hold = Support::yes;
  script_->on_renew = [this](const std::shared_ptr<Renewal>& operation) {
    for (Renewal::Item& item : operation->items()) {
      item.answer = Renewal::Answer::renewed;
      item.counted_from = clock_->now();
      item.granted = item.lease;
    }
    operation->answered();
  };
  Client client = open();
  Lock writer = client.make_lock("name", {.lease = 30s, .min_hold = 5s});
  Lock reader = client.make_lock("name", reading());
  writer.lock();
  reader.lock();
  writer.unlock();
  Worker other;
  auto waits = other.start([&] {
    const bool got = reader.try_lock_for(1h);
    reader.unlock();
    return got;
  });
  ASSERT_TRUE(other.falls_asleep());
  clock_->advance(5s);
  EXPECT_EQ(waits.wait_for(5s), std::future_status::ready) << "it sleeps although it could read";
  if (HasFailure()) return client.close();
  EXPECT_TRUE(waits.get());
  reader.unlock();
}

// Promise: L5
TEST_F(CoreShared, AfterATurnANewcomerAsksWhetherAnybodyWaits) {
  Client client = open({.turn = 5ms});
  Lock lock = client.make_lock("name", reading());
  lock.lock();
  clock_->advance(4ms);
  EXPECT_TRUE(joins(lock));
  EXPECT_EQ(script_->renewals.load(), 0);
  clock_->advance(1ms);
  EXPECT_TRUE(joins(lock)) << "it does not wait for the answer";
  EXPECT_EQ(script_->renewals.load(), 1);
  EXPECT_TRUE(joins(lock));
  EXPECT_EQ(script_->renewals.load(), 1) << "one a turn";
  answer(true);
  EXPECT_FALSE(joins(lock));
  lock.lock();  // it is a reader already
  lock.unlock();
  EXPECT_EQ(script_->acquires.load(), 1);
  clock_->advance(5ms);
  EXPECT_FALSE(joins(lock));
  EXPECT_EQ(script_->renewals.load(), 2) << "whoever waited may have given up";
  answer(false);
  EXPECT_TRUE(joins(lock));
}

TEST_F(CoreShared, WhatIsWantedIsLeftBeforeItIsAskedForAgain) {
  KeptOut kept_out(*this);
  Lock& lock = kept_out.lock;
  ASSERT_TRUE(kept_out.late.falls_asleep());
  EXPECT_EQ(script_->acquires.load(), 1);
  lock.unlock();
  ASSERT_TRUE(test::eventually(
      [&] { return script_->acquires.load() == 1 && !script_->released().empty(); }));
  const auto release = script_->released()[0];
  ASSERT_TRUE(release->successor()) << "it goes to the end of the queue, in the same request";
  EXPECT_EQ(release->successor()->request().mode, Mode::shared);
  release->successor()->granted(grant(++number_));
  EXPECT_TRUE(kept_out.waits.get());
}

TEST_F(CoreShared, AServerThatIsSilentCostsNoJeopardySooner) {
  // An answer about newcomers is asked for, one at a time, and none arrives.
  Client client = open({.turn = 5ms});
  Lock lock = client.make_lock("name", reading());
  lock.lock();
  for (int i = 0; i < 4; ++i) {
    clock_->advance(5ms);
    EXPECT_TRUE(joins(lock));
  }
  EXPECT_EQ(script_->renewals.load(), 1) << "it is under way";
  EXPECT_GT(lock.valid_for(), 29s);
  answer_renewal(Renewal::Answer::lost, clock_->now());
  EXPECT_TRUE(test::eventually([&] { return lock.lost().stop_requested(); }));
  lock.unlock();
}

TEST_F(CoreShared, AHoldWhoseRenewalIsOverdueIsNotJoined) {
  Client client = open({.turn = 5ms});
  Lock lock = client.make_lock("name", reading());
  lock.lock();
  clock_->advance(10s);
  ASSERT_TRUE(test::eventually([&] { return script_->renewals.load() >= 1; }));
  clock_->advance(2s);  // a command time-out and more
  ASSERT_TRUE(test::eventually([&] { return script_->renewals.load() >= 2; }));
  EXPECT_FALSE(joins(lock));
  answer(false);
  EXPECT_TRUE(joins(lock));
}

TEST_F(CoreShared, ABackendMayTellByItselfThatAnybodyWaits) {
  Client client = open({.turn = 10min});
  Lock lock = client.make_lock("name", reading());
  lock.lock();
  EXPECT_TRUE(joins(lock));
  const auto request = script_->asked()[0]->request();
  script_->host.load()->hold_wanted(
      {.name = "name", .attempt = request.attempt, .number = number_.load(), .mode = Mode::shared});
  EXPECT_FALSE(joins(lock));
}

// ZooKeeper proves leases by pulses. Readers were kept out until one had proven what came after the
// writer, which had given up long before.
TEST_F(CoreShared, WhatIsToldOfWaitersMayBeNewerThanWhatProvesTheLease) {
  Client client = open({.turn = 5ms});
  Lock lock = client.make_lock("name", reading());
  const Instant proven = clock_->now();
  lock.lock();
  clock_->advance(1s);
  script_->host.load()->hold_wanted({.name = "name",
                                     .attempt = script_->asked()[0]->request().attempt,
                                     .number = number_.load(),
                                     .mode = Mode::shared});
  clock_->advance(5ms);
  EXPECT_FALSE(joins(lock));
  script_->renewal()->items()[0].wanted_as_of = clock_->now();
  answer_renewal(Renewal::Answer::renewed, proven);
  EXPECT_TRUE(joins(lock)) << "nobody waits any more";
}

TEST_F(CoreShared, AKeysModeIsRefused) {
  Client client = open();
  try {
    static_cast<void>(client.make_lock("name", {.mode = Mode::once}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::misconfigured);
  }
}

// Promise: M1
TEST_F(CoreShared, NoReaderKeepsANameForNobody) {
  script_->can.min_hold = Support::yes;
  Client client = open();
  const LockOptions both{.min_hold = 1s, .mode = Mode::shared};
  const auto refused = [](auto make) {
    try {
      make();
      ADD_FAILURE() << "it was made";
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::misconfigured);
      EXPECT_NE(std::string(error.what()).find("LockOptions::min_hold"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("Mode::shared"), std::string::npos);
    }
  };
  refused([&] { static_cast<void>(client.make_lock("name", both)); });
  refused([&] { static_cast<void>(client.make_read_write_lock("name", {.min_hold = 1s})); });
  static_cast<void>(client.make_lock("name", {.min_hold = 1s}));
}

}  // namespace
}  // namespace mortise::contract
