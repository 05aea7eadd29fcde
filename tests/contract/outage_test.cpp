// SPDX-License-Identifier: MIT
// Goal: a store that cannot be reached is reported with its name and the cause (L3), blocks nobody
// who leaves (L4), costs no hold while it is shorter than a lease (L8), and is over when it is over
// (L7). Method: stores that are cut off, lose messages or delay them.
#include "support/contract_suites.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace mortise::contract {
namespace {

MORTISE_TEST(Outage, IsReportedWithTheServersNameAndTheCause, Hook::unreachable) {
  Client one = client();
  Lock lock = one.make_lock("name", {.lease = std::max(600ms, lease_of({.lease = 600ms}))});
  store().set_reachable(false);
  const std::string server = store().backend()->describe().name;
  std::error_code ec;
  EXPECT_FALSE(lock.try_lock(ec));
  EXPECT_EQ(ec, Errc::unavailable);
  EXPECT_FALSE(lock.try_lock_for(50ms, ec));
  EXPECT_EQ(ec, Errc::unavailable);
  EXPECT_TRUE(is_retryable(ec));
  EXPECT_FALSE(is_ambiguous(ec));
  EXPECT_FALSE(is_contention(ec));
  EXPECT_THROW(static_cast<void>(lock.try_lock_for(20ms)), Error);
  try {
    const Guard guard(lock, {.wait = 20ms});
    FAIL() << "an unreachable store was reported as contention";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::unavailable);
    EXPECT_NE(std::string(error.what()).find(server), std::string::npos) << error.what();
  }
  const Guard guard(lock, {.wait = 20ms}, ec);
  EXPECT_EQ(ec, Errc::unavailable);
  EXPECT_EQ(guard.error(), Errc::unavailable);
  EXPECT_NE(guard.error_text().find(server), std::string::npos) << guard.error_text();
  EXPECT_GT(guard.error_text().size(), server.size() + 2) << "the cause is missing";
  one.check(50ms, ec);
  EXPECT_EQ(ec, Errc::unavailable);
  EXPECT_FALSE(lock.holder(ec).has_value());
  EXPECT_EQ(ec, has(Quality::holders) ? Errc::unavailable : Errc::unsupported);
  store().set_reachable(true);
  one.check(patience);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

MORTISE_TEST(Outage, IsReportedToWaitersBehindWaiters, Hook::unreachable) {
  // The second thread asks nobody itself: it has to learn from the first what is wrong.
  Client one = client();
  store().set_reachable(false);
  Lock lock = one.make_lock("name");
  Worker first;
  Worker second;
  const auto outcome_within = [&](std::chrono::milliseconds wait) {
    return [&lock, wait] {
      std::error_code ec;
      EXPECT_FALSE(lock.try_lock_for(wait, ec));
      return ec;
    };
  };
  auto longer = first.start(outcome_within(600ms));
  ASSERT_TRUE(first.falls_asleep());
  auto shorter = second.start(outcome_within(50ms));
  EXPECT_EQ(shorter.get(), Errc::unavailable);
  EXPECT_EQ(longer.get(), Errc::unavailable);
  // And the other way round: whoever asked leaves, and a successor goes on.
  auto asks = first.start(outcome_within(400ms));
  ASSERT_TRUE(first.falls_asleep());
  auto inherits = second.start(outcome_within(600ms));
  EXPECT_EQ(asks.get(), Errc::unavailable);
  EXPECT_EQ(inherits.get(), Errc::unavailable);
  store().set_reachable(true);
  EXPECT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
}

MORTISE_TEST(Outage, WithoutAnswerIsNoContention, Hook::lost_messages) {
  Client one = client();
  store().misbehave({.lose_request = 1});
  Lock lock = one.make_lock("name");
  Worker first;
  Worker second;
  auto asks = first.start([&] {
    std::error_code ec;
    EXPECT_FALSE(lock.try_lock_for(400ms, ec));
    return ec;
  });
  ASSERT_TRUE(first.falls_asleep());
  auto inherits = second.start([&] {
    std::error_code ec;
    EXPECT_FALSE(lock.try_lock_for(600ms, ec));
    return ec;
  });
  EXPECT_FALSE(is_contention(asks.get())) << "nobody holds it, as far as anybody knows";
  EXPECT_FALSE(is_contention(inherits.get()));
  store().misbehave({});
}

// Promise: L3
MORTISE_TEST(Outage, FailsATryWithinACommandTimeOut, Hook::unreachable) {
  Client one = client();
  store().set_reachable(false);
  Lock lock = one.make_lock("name", {.lease = 600ms});
  const auto took = best_of(10, 100ms + allowance, [&] {
    return own_duration_of([&] {
      std::error_code ec;
      EXPECT_FALSE(lock.try_lock(ec));
      EXPECT_EQ(ec, Errc::unavailable);
    });
  });
  EXPECT_LE(took, 100ms + allowance);
  store().set_reachable(true);
}

MORTISE_TEST(Outage, EndsALockWithoutTimeLimitAfterGiveUp, Hook::unreachable) {
  Client one = client({.give_up = 200ms});
  store().set_reachable(false);
  Lock lock = one.make_lock("name");
  std::error_code ec;
  EXPECT_GE(duration_of([&] { EXPECT_LT(own_duration_of([&] { lock.lock(ec); }), 5s); }), 200ms);
  EXPECT_EQ(ec, Errc::unavailable);
  EXPECT_THROW(lock.lock(), Error);
  store().set_reachable(true);
  // A loaded machine may take longer to connect than it is given up after.
  EXPECT_TRUE(eventually([&] {
    lock.lock(ec);
    return !ec;
  }));
  lock.unlock();
}

MORTISE_TEST(Outage, GiveUpIsChargedToEachThreadFromItsOwnArrival, Hook::unreachable,
             Hook::hand_clock) {
  take_the_clock();
  Party one = party({.give_up = 10s});
  store().set_reachable(false);
  Lock lock = one.client.make_lock("name");
  Worker first;
  Worker second;
  const auto outcome = [&lock] {
    std::error_code ec;
    lock.lock(ec);
    return ec;
  };
  auto early = first.start(outcome);
  ASSERT_TRUE(first.falls_asleep());
  clock().advance(6s);
  auto late = second.start(outcome);
  ASSERT_TRUE(second.falls_asleep());
  clock().advance(4s);
  EXPECT_EQ(early.get(), Errc::unavailable);
  ASSERT_TRUE(second.falls_asleep());
  const std::uint64_t asked = one.probe->counts().acquires;
  clock().advance(5s);
  ASSERT_TRUE(eventually([&] { return one.probe->counts().acquires > asked; }))
      << "it has waited for 9 s only";
  clock().advance(1s);
  EXPECT_EQ(late.get(), Errc::unavailable);
  store().set_reachable(true);
}

MORTISE_TEST(Outage, NeverGivesUpIfToldSo, Hook::unreachable) {
  Party one = party({.give_up = 0ms});
  store().set_reachable(false);
  Lock lock = one.client.make_lock("name");
  Worker waiter;
  const Owner owner = Owner::unique();
  auto served = waiter.start([&] { return lock.acquire({.owner = owner}); });
  ASSERT_TRUE(eventually([&] { return one.probe->counts().acquires >= 5; }));
  EXPECT_EQ(served.wait_for(0s), std::future_status::timeout);
  store().set_reachable(true);
  EXPECT_TRUE(comes(served, fallback_period * 3));
  EXPECT_TRUE(served.get());
  lock.unlock(owner);
}

MORTISE_TEST(Outage, WaitingForAHolderIsNoTrouble, Hook::hand_clock) {
  take_the_clock();
  Client one = client();
  Party other = party({.give_up = 1s});
  Lock held = one.make_lock("name", {.lease = 24h});
  held.lock();
  Lock wanted = other.client.make_lock("name");
  Worker waiter;
  auto served = waiter.start([&] {
    wanted.lock();
    wanted.unlock();
  });
  ASSERT_TRUE(waiter.falls_asleep());
  for (std::uint64_t asked = 2; asked <= 5; ++asked) {
    clock().advance(10s);
    ASSERT_TRUE(eventually([&] { return other.probe->counts().acquires >= asked; }));
  }
  EXPECT_EQ(served.wait_for(0s), std::future_status::timeout);
  held.unlock();
  EXPECT_NO_THROW(served.get());
}

// Promise: L4
MORTISE_TEST(Outage, UnlockAndDestructorsAreBounded, Hook::unreachable) {
  Client one = client();
  const LockOptions options{.lease = 1'200ms};  // its command time-out is 200 ms
  Lock lock = one.make_lock("name", options);
  const auto bound = 200ms + allowance;
  EXPECT_LE(best_of(5, bound,
                    [&] {
                      EXPECT_TRUE(lock.try_lock_for(patience));
                      store().set_reachable(false);
                      const auto took =
                          own_duration_of([&] { EXPECT_NE(lock.release(), Released::was_lost); });
                      store().set_reachable(true);
                      return took;
                    }),
            bound);
  EXPECT_LE(best_of(5, bound,
                    [&] {
                      auto guard = std::make_unique<Guard>(lock);
                      store().set_reachable(false);
                      const auto took = own_duration_of([&] { guard.reset(); });
                      store().set_reachable(true);
                      return took;
                    }),
            bound);
}

// Promise: L4
MORTISE_TEST(Outage, CloseIsBounded, Hook::unreachable) {
  auto one = std::make_unique<Client>(client());
  Lock lock = one->make_lock("name");
  Lock other = one->make_lock("other name");
  lock.lock();
  other.lock();
  Lock wanted = one->make_lock("unreachable name");
  store().set_reachable(false);
  Worker waiter;
  auto outcome = waiter.start([&] {
    std::error_code ec;
    wanted.lock(ec);
    return ec;
  });
  ASSERT_TRUE(waiter.falls_asleep());
  EXPECT_LT(own_duration_of([&] { one.reset(); }), 2s + allowance);
  EXPECT_EQ(outcome.get(), Errc::closed);
  store().set_reachable(true);
}

// Promise: L8
MORTISE_TEST(Outage, ShorterThanTheLeaseCostsNoHold, Quality::leases, Hook::unreachable) {
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Party asking = party({.observer = record});
  Client& one = asking.client;
  Client other = client();
  const LockOptions options{.lease = real_time() ? short_lease() * 6 : 30'000ms};
  Lock lock = one.make_lock("name", options);
  lock.lock();
  store().set_reachable(false);
  if (!real_time()) clock().advance(options.lease / 2);
  ASSERT_TRUE(record->told(Record::Kind::failed, 1));
  // The observer is notified of the next ones at most once a second, which the lease may not have.
  const std::size_t renewals = asking.probe->counts().renewals;
  for (int i = 0; i < 4 && !real_time(); ++i) clock().advance(options.lease / 12);
  ASSERT_TRUE(eventually([&] { return asking.probe->counts().renewals > renewals; }))
      << "one failed renewal was the last";
  store().set_reachable(true);
  if (!real_time()) clock().advance(options.lease / 12);
  ASSERT_TRUE(record->told(Record::Kind::renewed, 1));
  EXPECT_GT(lock.valid_for(), lease_of(options) / 2);
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_FALSE(other.make_lock("name").try_lock());
  // And renewal goes on as if nothing had been.
  if (!real_time()) clock().advance(options.lease / 3);
  EXPECT_TRUE(record->told(Record::Kind::renewed, 2));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(record->count(Record::Kind::lost), 0U);
}

MORTISE_TEST(Outage, LongerThanTheLeaseLosesTheHold, Quality::leases, Hook::unreachable) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name", {.lease = short_lease()});
  lock.lock();
  const std::stop_token lost = lock.lost();
  const Instant deadline = BootClock::now() + lock.valid_for();
  store().set_reachable(false);
  ASSERT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_GE(BootClock::now(), deadline) << "lost before its time";
  store().set_reachable(true);
  EXPECT_EQ(lock.release(), Released::was_lost);
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, short_lease() + fallback_period));
  next.unlock();
}

/// What a client opens, it may open behind the caller's back: a try that failed is followed by the
/// next one after a pause of a second at most.
std::size_t settled_descriptors() {
  constexpr std::chrono::milliseconds longer_than_a_pause{1'200};
  std::size_t last = 0;
  auto since = std::chrono::steady_clock::now();
  static_cast<void>(eventually([&] {
    const std::size_t now = open_descriptors();
    if (now != last) since = std::chrono::steady_clock::now();
    last = now;
    return std::chrono::steady_clock::now() - since > longer_than_a_pause;
  }));
  return last;
}

// Promise: L7
MORTISE_TEST(Outage, IsOverWhenItIsOver, Hook::unreachable) {
  const std::size_t threads_before = running_threads();
  const std::size_t descriptors_before = open_descriptors();
  {
    constexpr int clients = 4;
    std::vector<std::unique_ptr<Client>> all;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::future<void>> waits;
    for (int i = 0; i < clients; ++i) all.push_back(std::make_unique<Client>(client()));
    for (const auto& each : all) {
      each->check(patience);  // so that it is connected to each of its servers, if it has several
    }
    // Each has waited once, which some connect more for, and does so again as chance has it.
    for (std::size_t i = 0; i < all.size(); ++i) {
      Lock theirs = all[(i + 1) % all.size()]->make_lock("first of all");
      const std::lock_guard hold(theirs);
      EXPECT_FALSE(all[i]->make_lock("first of all").try_lock_for(answer_time));
    }
    const std::size_t descriptors = settled_descriptors();
    store().set_reachable(false);
    for (const auto& each : all) {
      workers.push_back(std::make_unique<Worker>());
      waits.push_back(workers.back()->start([&] {
        Lock lock = each->make_lock("name");
        const std::lock_guard hold(lock);
      }));
      std::error_code ec;
      EXPECT_FALSE(each->make_lock("another name").try_lock_for(20ms, ec));
    }
    store().set_reachable(true);
    for (auto& wait : waits) {
      ASSERT_EQ(wait.wait_for(patience), std::future_status::ready) << "a waiter never came back";
      wait.get();
    }
    for (const auto& each : all) {
      Lock lock = each->make_lock("another name");
      EXPECT_TRUE(taken_within(lock, fallback_period * 3)) << "a client did not recover";
      lock.unlock();
    }
    EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors; }));
    if (has(Hook::counts)) {
      EXPECT_TRUE(eventually([&] { return store().waiters() == 0; }));
    }
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors() == descriptors_before; }));
  EXPECT_TRUE(eventually([&] { return running_threads() <= threads_before; }));
}

}  // namespace
}  // namespace mortise::contract
