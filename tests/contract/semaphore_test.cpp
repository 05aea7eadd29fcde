// SPDX-License-Identifier: MIT
// Goal: never more than N hold a permit, whoever dies gives its own back, and all are served in
// turn. Method: owners of one client and of several, in every order of arrival; a probe counts what
// the server is asked.
#include "support/contract_suites.hpp"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::contract {
namespace {

constexpr std::uint32_t two = 2;

Permit take(Semaphore& semaphore, std::chrono::nanoseconds wait = {}) {
  return semaphore.acquire({.wait = wait});
}

MORTISE_TEST(Permits, AreRefusedWhereThereAreNone, Quality::no_permits) {
  Client one = client();
  try {
    static_cast<void>(one.make_semaphore("gate", two));
    ADD_FAILURE() << "it was made";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::unsupported);
    EXPECT_NE(std::string(error.what()).find("semaphores"), std::string::npos) << error.what();
  }
}

// Promise: S1
MORTISE_TEST(Permits, AreAsManyAsThereAre, Quality::permits) {
  Client one = client();
  Client other = client();
  Semaphore here = one.make_semaphore("gate", two);
  Semaphore there = other.make_semaphore("gate", two);
  EXPECT_EQ(here.name(), "gate");
  EXPECT_EQ(here.permits(), two);
  Permit first = take(here);
  Permit second = take(there);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  const Permit none = take(here);
  EXPECT_FALSE(none);
  EXPECT_EQ(none.error(), Errc::timeout);
  EXPECT_FALSE(take(there));
  EXPECT_EQ(first.unlock(), Released::released);
  Permit third = take(there);
  EXPECT_TRUE(third) << "one came free";
  EXPECT_FALSE(take(here));
}

// Promise: S2
MORTISE_TEST(Permits, HaveTokensThatGrow, Quality::permits) {
  Client one = client();
  Client other = client();
  Semaphore here = one.make_semaphore("gate", two);
  Semaphore there = other.make_semaphore("gate", two);
  Token last;
  for (int i = 0; i < 4; ++i) {
    Permit first = take(here);
    Permit second = take(there);
    ASSERT_TRUE(first && second);
    EXPECT_GT(first.token(), last);
    EXPECT_GT(second.token(), first.token());
    last = second.token();
  }
}

MORTISE_TEST(Permits, OneThreadTakesAsManyAsThereAreAndNoMore, Quality::permits) {
  Client one = client();
  Client other = client();
  Semaphore gate = one.make_semaphore("gate", 3);
  Semaphore there = other.make_semaphore("gate", 3);
  std::vector<Permit> permits;
  for (int i = 0; i < 100; ++i) {
    Permit permit = gate.try_acquire();
    if (!permit) continue;
    for (const Permit& earlier : permits) EXPECT_NE(permit.token(), earlier.token());
    permits.push_back(std::move(permit));
  }
  EXPECT_EQ(permits.size(), 3U);
  const Permit late = gate.try_acquire_for(answer_time);
  EXPECT_EQ(late.error(), Errc::timeout);
  std::error_code ec;
  EXPECT_FALSE(gate.try_acquire_for(answer_time, ec));
  EXPECT_EQ(ec, Errc::timeout);
  EXPECT_FALSE(take(there));
  permits.pop_back();
  EXPECT_TRUE(there.try_acquire_for(patience)) << "each is given back by itself";
  EXPECT_TRUE(gate.try_acquire_for(patience));
}

MORTISE_TEST(Permits, AnOwnerThatIsNamedHasOneHoweverOftenItAsks, Quality::permits) {
  Client one = client();
  Semaphore gate = one.make_semaphore("gate", two);
  Semaphore same = one.make_semaphore("gate", two);
  const Owner owner = Owner::this_thread();
  Permit outer = gate.acquire({.wait = 0ns, .owner = owner});
  Permit inner = same.acquire({.wait = 0ns, .owner = owner});
  ASSERT_TRUE(outer && inner);
  EXPECT_EQ(outer.token(), inner.token());
  EXPECT_EQ(outer.owner(), owner);
  Permit another = take(gate);
  EXPECT_TRUE(another);
  EXPECT_FALSE(take(gate)) << "there were two";
  EXPECT_EQ(outer.unlock(), Released::released);
  EXPECT_FALSE(take(gate)) << "its owner has it still";
  inner.unlock();
  EXPECT_TRUE(take(gate));
}

MORTISE_TEST(Permits, CostOneRoundTripToTakeAndOneToGiveBack, Quality::permits) {
  Party asking = party();
  Semaphore gate = asking.client.make_semaphore("gate", two);
  take(gate).unlock();  // it has connected
  const Probe::Counts before = asking.probe->counts();
  Permit permit = take(gate);
  ASSERT_TRUE(permit);
  EXPECT_EQ(asking.probe->counts().all(), before.all() + 1);
  permit.unlock();
  EXPECT_EQ(asking.probe->counts().all(), before.all() + 2);
}

// Promise: L6
MORTISE_TEST(Permits, OneThatComesFreeWakesTheFirstWhoWaits, Quality::permits, Quality::fair,
             Hook::counts) {
  Client one = client();
  Client other = client();
  Semaphore here = one.make_semaphore("gate", two);
  Semaphore there = other.make_semaphore("gate", two);
  Permit first = take(here);
  Permit second = take(there);
  ASSERT_TRUE(first && second);
  std::array<Worker, 3> workers;
  std::vector<std::future<Permit>> waiting;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    Semaphore& its = i % 2 == 0 ? there : here;
    waiting.push_back(workers.at(i).start([&its] { return take(its, forever); }));
    // Whoever sleeps may await the server's answer, and the next one be there before it.
    ASSERT_TRUE(eventually([&] { return store().waiters() == i + 1; }));
  }
  EXPECT_FALSE(take(here)) << "others wait";
  first.unlock();
  Permit third = waiting[0].get();
  EXPECT_TRUE(third);
  second.unlock();
  Permit fourth = waiting[1].get();
  EXPECT_TRUE(fourth);
  EXPECT_NE(waiting[2].wait_for(20ms), std::future_status::ready) << "two are held";
  third.unlock();
  EXPECT_TRUE(waiting[2].get());
}

MORTISE_TEST(Permits, WhoGivesUpWaitingIsNotGivenOne, Quality::permits) {
  Client one = client();
  Client other = client();
  Semaphore here = one.make_semaphore("gate", 1);
  Semaphore there = other.make_semaphore("gate", 1);
  Permit only = take(here);
  ASSERT_TRUE(only);
  EXPECT_FALSE(take(there)) << "and it has connected";
  const Permit late = take(there, answer_time);
  EXPECT_EQ(late.error(), Errc::timeout);
  std::stop_source stop;
  Worker worker;
  auto cancelled = worker.start([&] { return there.acquire({.stop = stop.get_token()}).error(); });
  ASSERT_TRUE(eventually([&] { return worker.falls_asleep(); }));
  stop.request_stop();
  EXPECT_EQ(cancelled.get(), Errc::cancelled);
  only.unlock();
  EXPECT_TRUE(take(here)) << "nobody has it";
}

// Promise: S3
MORTISE_TEST(Permits, WhoseClientDiesIsFreeWithItsLease, Quality::permits, Quality::leases) {
  Client other = client();
  Semaphore there = other.make_semaphore("gate", two);
  Permit kept = take(there);
  ASSERT_TRUE(kept);
  {
    Client one = client();
    one.check(patience);  // or it may take longer to connect than so short a lease lasts
    Semaphore here = one.make_semaphore("gate", two, {.lease = short_lease(), .renew = false});
    Permit lost = take(here);
    ASSERT_TRUE(lost);
    EXPECT_FALSE(take(there));
    EXPECT_TRUE(take(there, 10s)) << "nobody renewed it";
    EXPECT_EQ(lost.valid_for(), 0ns);
    EXPECT_TRUE(eventually([&] { return lost.lost().stop_requested(); }));
    EXPECT_EQ(lost.unlock(), Released::was_lost);
  }
  EXPECT_GT(kept.valid_for(), 0ns) << "it is another's";
}

MORTISE_TEST(Permits, AnotherNumberAtTheStoreIsRefusedWithBoth, Quality::permits) {
  Client one = client();
  Client other = client();
  Semaphore here = one.make_semaphore("gate", two);
  Semaphore there = other.make_semaphore("gate", 3);
  Permit permit = take(here);
  ASSERT_TRUE(permit);
  std::error_code error;
  const Permit refused = there.try_acquire(error);
  EXPECT_EQ(error, Errc::misconfigured);
  for (const char* const word : {"gate", "2", "3"}) {
    EXPECT_NE(refused.error_text().find(word), std::string::npos) << refused.error_text();
  }
  EXPECT_THROW(static_cast<void>(there.try_acquire()), Error);
  permit.unlock();
}

MORTISE_TEST(Permits, AnotherNumberIsRefusedToAnOwnerThatHasOne, Quality::permits) {
  Client one = client();
  Semaphore two_of_them = one.make_semaphore("gate", two);
  Semaphore three_of_them = one.make_semaphore("gate", 3);
  const AcquireOptions mine{.wait = 0ns, .owner = Owner::unique()};
  Permit permit = two_of_them.acquire(mine);
  ASSERT_TRUE(permit);
  std::error_code error;
  const Permit refused = three_of_them.acquire(mine, error);
  EXPECT_EQ(error, Errc::misconfigured) << "it would be told that there are three";
  for (const char* const word : {"gate", "2", "3"}) {
    EXPECT_NE(refused.error_text().find(word), std::string::npos) << refused.error_text();
  }
  EXPECT_TRUE(two_of_them.acquire(mine)) << "it has it still";
  permit.unlock();
  EXPECT_TRUE(three_of_them.try_acquire()) << "an idle one takes the new number";
}

MORTISE_TEST(Permits, AreOfAnotherSpaceThanLocks, Quality::permits) {
  Client one = client();
  Semaphore gate = one.make_semaphore("x", 1);
  Lock lock = one.make_lock("x");
  Permit permit = take(gate);
  ASSERT_TRUE(permit);
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(take(gate));
  lock.unlock();
  permit.unlock();
  EXPECT_TRUE(take(gate));
}

MORTISE_TEST(Permits, WhatCannotBeIsRefusedInWords, Quality::permits) {
  Client one = client();
  const auto refused = [&](const std::string& name, std::uint32_t permits,
                           const LockOptions& options, const char* word) {
    try {
      static_cast<void>(one.make_semaphore(name, permits, options));
      ADD_FAILURE() << word;
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::misconfigured);
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  refused("", two, {}, "name");
  refused("gate", 0, {}, "0 permits");
  refused("gate", 10'001, {}, "10001 permits");
  refused("gate", two, {.mode = Mode::shared}, "mode");
  refused("gate", two, {.min_hold = 1s}, "min_hold");
  refused("gate", two, {.lease = 1ms}, "lease");
}

MORTISE_TEST(Permits, EndWithTheirClient, Quality::permits) {
  Client other = client();
  Semaphore there = other.make_semaphore("gate", 1);
  Client one = client();
  Semaphore here = one.make_semaphore("gate", 1);
  Permit permit = take(here);
  ASSERT_TRUE(permit);
  one.close();
  EXPECT_TRUE(permit.lost().stop_requested());
  EXPECT_EQ(permit.valid_for(), 0ns);
  EXPECT_TRUE(take(there, 5s)) << "it was given back";
  std::error_code error;
  EXPECT_FALSE(here.try_acquire(error));
  EXPECT_EQ(error, Errc::closed);
}

// Promise: S1
MORTISE_TEST(Permits, ManyThreadsOfTwoClientsNeverHaveMoreThanThereAre, Quality::permits) {
  constexpr int most = 3;
  Client one = client();
  Client other = client();
  std::atomic<int> held{0};
  std::atomic<int> too_many{0};
  std::atomic<int> grants{0};
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<void>> done;
  for (int i = 0; i < 8; ++i) {
    workers.push_back(std::make_unique<Worker>());
    done.push_back(workers.back()->start([&, i] {
      Semaphore gate = (i % 2 == 0 ? one : other).make_semaphore("gate", most);
      for (int n = 0; n < 25; ++n) {
        const Permit permit = gate.acquire({.wait = 20s});
        if (!permit) continue;
        if (held.fetch_add(1) >= most) ++too_many;
        ++grants;
        std::this_thread::sleep_for(100us);
        held.fetch_sub(1);
      }
    }));
  }
  for (auto& each : done) each.get();
  EXPECT_EQ(too_many, 0);
  EXPECT_EQ(grants, 8 * 25);
}

}  // namespace
}  // namespace mortise::contract
