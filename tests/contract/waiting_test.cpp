// SPDX-License-Identifier: MIT
// Goal: whoever waits gets the lock: in order (L5), though every notification is lost (L2), without
// waking the others (L6), and only if its grant is still worth something when it wakes (S8).
// Method: waiters of which it is certain that they wait, pushes that are lost, waiters that stand
// still.
#include "support/contract_stall.hpp"
#include "support/contract_suites.hpp"

#include <memory>
#include <vector>

namespace mortise::contract {
namespace {

/// One client with a thread that waits for "name", and keeps what it got until told otherwise.
struct Candidate {
  explicit Candidate(Client opened, const LockOptions& options = {})
      : client(std::move(opened)), lock(client.make_lock("name", options)) {}
  Client client;
  Lock lock;
  const Owner owner = Owner::unique();
  Worker thread;
  std::future<bool> served;
  void wait_for_it() {
    served = thread.start([this] { return lock.acquire({.owner = owner}); });
  }
};

MORTISE_TEST(Waiting, AWaiterIsServedWhenTheLockIsFreed) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  Lock wanted = other.make_lock("name");
  held.lock();
  Worker waiter;
  Signal served;
  auto done = waiter.start([&] {
    wanted.lock();
    served.set();
    wanted.unlock();
  });
  ASSERT_TRUE(waiter.falls_asleep());
  EXPECT_FALSE(served.is_set());
  const auto took = own_duration_of([&] {
    held.unlock();
    EXPECT_TRUE(served.wait());
  });
  if (capabilities().push_wakeup == Support::yes) {
    EXPECT_LT(took, fallback_period / 2) << "it was not woken, it looked by itself";
  }
  done.get();
}

MORTISE_TEST(Waiting, EveryWaiterIsServed) {
  constexpr int clients = 6;
  Client first = client();
  Lock held = first.make_lock("name");
  held.lock();
  std::vector<std::unique_ptr<Candidate>> candidates;
  std::vector<std::future<void>> done;
  for (int i = 0; i < clients; ++i) {
    Candidate& candidate = *candidates.emplace_back(std::make_unique<Candidate>(client()));
    done.push_back(candidate.thread.start([&candidate] {
      candidate.lock.lock();
      candidate.lock.unlock();
    }));
    ASSERT_TRUE(candidate.thread.falls_asleep());
  }
  held.unlock();
  for (auto& served : done) ASSERT_EQ(served.wait_for(patience), std::future_status::ready);
}

// Promise: L5
MORTISE_TEST(Waiting, ClientsAreServedInTheOrderOfTheirArrival, Quality::fair, Hook::counts) {
  constexpr std::size_t clients = 5;
  Client first = client();
  Lock held = first.make_lock("name");
  held.lock();
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (std::size_t i = 0; i < clients; ++i) {
    candidates.push_back(std::make_unique<Candidate>(client()));
    candidates.back()->wait_for_it();
    ASSERT_TRUE(eventually([&] { return store().waiters() == i + 1; }));
  }
  held.unlock();
  Token last;
  for (std::size_t i = 0; i < clients; ++i) {
    Candidate& next = *candidates[i];
    ASSERT_EQ(next.served.wait_for(patience), std::future_status::ready) << "not served: " << i;
    ASSERT_TRUE(next.served.get());
    for (std::size_t j = i + 1; j < clients; ++j) {
      EXPECT_EQ(candidates[j]->lock.hold_count(candidates[j]->owner), 0U);
    }
    EXPECT_GT(next.lock.token(next.owner), last);
    last = next.lock.token(next.owner);
    next.lock.unlock(next.owner);
  }
}

// Promise: L5
MORTISE_TEST(Waiting, ThreadsOfOneClientAreServedInTheOrderOfTheirArrival) {
  constexpr std::size_t threads = 5;
  Client one = client();
  Lock lock = one.make_lock("name");
  lock.lock();
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<Token>> tokens;
  for (std::size_t i = 0; i < threads; ++i) {
    workers.push_back(std::make_unique<Worker>());
    tokens.push_back(workers.back()->start([&] {
      const std::lock_guard hold(lock);
      return lock.token();
    }));
    ASSERT_TRUE(workers.back()->falls_asleep());
  }
  Token last = lock.token();
  lock.unlock();
  for (std::size_t i = 0; i < threads; ++i) {
    const Token token = tokens[i].get();
    EXPECT_GT(token, last) << "thread " << i << " was overtaken";
    last = token;
  }
}

MORTISE_TEST(Waiting, ThreadsAreServedInOrderAlsoWhenAnotherClientHeld) {
  constexpr std::size_t threads = 4;
  Client one = client();
  Client other = client();
  Lock held = other.make_lock("name");
  held.lock();
  Lock lock = one.make_lock("name");
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<Token>> tokens;
  for (std::size_t i = 0; i < threads; ++i) {
    workers.push_back(std::make_unique<Worker>());
    tokens.push_back(workers.back()->start([&] {
      const std::lock_guard hold(lock);
      return lock.token();
    }));
    ASSERT_TRUE(workers.back()->falls_asleep());
  }
  held.unlock();
  Token last;
  for (std::size_t i = 0; i < threads; ++i) {
    const Token token = tokens[i].get();
    EXPECT_GT(token, last) << "thread " << i << " was overtaken";
    last = token;
  }
}

// None is renewed: on ZooKeeper whoever renews a hold watches its node, and so is told of its own
// release as well.
// Promise: L6
MORTISE_TEST(Waiting, OneReleaseWakesOneWaiter, Quality::one_wake, Hook::counts) {
  constexpr std::size_t clients = 5;
  const LockOptions once{.renew = false};
  Client first = client();
  Lock held = first.make_lock("name", once);
  held.lock();
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (std::size_t i = 0; i < clients; ++i) {
    candidates.push_back(std::make_unique<Candidate>(client(), once));
    candidates.back()->wait_for_it();
    ASSERT_TRUE(eventually([&] { return store().waiters() == i + 1; }));
  }
  const std::uint64_t before = store().pushes();
  held.unlock();
  for (std::size_t i = 0; i < clients; ++i) {
    ASSERT_TRUE(candidates[i]->served.get());
    EXPECT_TRUE(eventually([&] { return store().pushes() > before + i; }));
    EXPECT_EQ(store().pushes(), before + i + 1);
    EXPECT_EQ(store().waiters(), clients - i - 1);
    candidates[i]->lock.unlock(candidates[i]->owner);
  }
  EXPECT_EQ(store().pushes(), before + clients) << "the last release had nobody to wake";
}

// Promise: L2
MORTISE_TEST(Waiting, ALostPushIsSurvived, Hook::lost_pushes) {
  Client one = client();
  store().misbehave({.lose_push = 1});
  Lock held = one.make_lock("name");
  // The first push is lost, and the second one comes. A round without one, since the waiter looked
  // by itself just when the name was freed, is about nothing, and is made again.
  int pushed = 0;
  for (int round = 0; pushed < 2 && round < 10; ++round) {
    held.lock();
    Candidate waiter(client());
    waiter.wait_for_it();
    ASSERT_TRUE(waiter.thread.falls_asleep());
    if (has(Hook::counts)) {
      ASSERT_TRUE(eventually([&] { return store().waiters() == 1; }));
    }
    const std::uint64_t pushes = has(Hook::counts) ? store().pushes() : 0;
    const auto took = own_duration_of([&] {
      held.unlock();
      EXPECT_TRUE(waiter.served.get());
    });
    if (!has(Hook::counts) || eventually([&] { return store().pushes() > pushes; }, 1s)) ++pushed;
    EXPECT_LT(took, fallback_period + 1s);
    EXPECT_EQ(waiter.lock.release(waiter.owner), Released::released);
  }
  EXPECT_EQ(pushed, 2) << "no push was there to be lost";
}

// Promise: L2
MORTISE_TEST(Waiting, AServerThatForgotItsQueueIsAskedAgain, Hook::restart) {
  Client one = client();
  Lock held = one.make_lock("name", {.lease = short_lease()});
  held.lock();
  Candidate waiter(client());
  waiter.wait_for_it();
  ASSERT_TRUE(waiter.thread.falls_asleep());
  store().restart();
  // A server that forgets nothing keeps the holder, too.
  const bool kept = capabilities().survives_restart == Support::yes;
  if (kept) static_cast<void>(held.release());
  EXPECT_TRUE(comes(waiter.served, fallback_period * 3));
  EXPECT_TRUE(waiter.served.get());
  if (!kept) static_cast<void>(held.release());
  waiter.lock.unlock(waiter.owner);
}

// Promise: S8
MORTISE_TEST(Waiting, AGrantOlderThanItsLeaseIsNotBelieved, Quality::leases, Hook::delays) {
  Client one = client();
  Client other = client();
  const auto one_way = short_lease() * 2 / 3;
  store().misbehave({.delay_min = one_way, .delay_max = one_way});
  Lock lock = one.make_lock("name", {.lease = short_lease(), .renew = false});
  std::error_code ec;
  EXPECT_FALSE(lock.try_lock_for(short_lease() * 4, ec));
  EXPECT_TRUE(ec == Errc::unavailable || ec == Errc::in_doubt) << ec.message();
  EXPECT_EQ(lock.hold_count(), 0U);
  store().misbehave({});
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, short_lease() + fallback_period * 3));
  next.unlock();
}

// Promise: S8
MORTISE_TEST(Waiting, AWaiterThatSleptThroughItsGrantAsksAgain, Quality::leases, Hook::hand_clock) {
  take_the_clock();
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  Lock wanted = other.make_lock("name", {.lease = 30s, .renew = false});
  held.lock();
  Worker waiter;
  const Owner owner = Owner::unique();
  auto valid = waiter.start([&] {
    EXPECT_TRUE(wanted.acquire({.owner = owner}));
    return wanted.valid_for(owner);
  });
  ASSERT_TRUE(waiter.falls_asleep());
  Stall stall(waiter.handle());
  ASSERT_TRUE(stall.began());
  held.unlock();  // granted to a waiter that does not notice
  clock().advance(60s);
  stall.end();
  EXPECT_GT(valid.get(), 0ns) << "it believed a grant that had lapsed";
  EXPECT_EQ(wanted.release(owner), Released::released);
}

// Promise: S8
MORTISE_TEST(Waiting, AWaiterThatSleptThroughItsHandOverAsksAgain, Quality::leases,
             Hook::hand_clock) {
  take_the_clock();
  Client one = client();
  Lock lock = one.make_lock("name", {.lease = 30s, .renew = false});
  lock.lock();
  Worker waiter;
  const Owner owner = Owner::unique();
  auto valid = waiter.start([&] {
    EXPECT_TRUE(lock.acquire({.owner = owner}));
    return lock.valid_for(owner);
  });
  ASSERT_TRUE(waiter.falls_asleep());
  Stall stall(waiter.handle());
  ASSERT_TRUE(stall.began());
  lock.unlock();  // passed on inside the process
  EXPECT_EQ(lock.hold_count(owner), 1U);
  clock().advance(60s);
  ASSERT_TRUE(eventually([&] { return lock.valid_for(owner) == 0ns; }));
  stall.end();
  EXPECT_GT(valid.get(), 0ns) << "it believed a hold that had lapsed";
  EXPECT_EQ(lock.release(owner), Released::released);
}

// Promise: L5
MORTISE_TEST(Waiting, ADestroyedWaiterIsSkipped) {
  Client one = client();
  Lock held = one.make_lock("name");
  held.lock();
  auto gone = std::make_unique<Candidate>(client());
  auto next = std::make_unique<Candidate>(client());
  gone->wait_for_it();
  ASSERT_TRUE(gone->thread.falls_asleep());
  next->wait_for_it();
  ASSERT_TRUE(next->thread.falls_asleep());
  gone->client.close();
  EXPECT_THROW(gone->served.get(), Error);
  gone.reset();
  const auto took = own_duration_of([&] {
    held.unlock();
    EXPECT_TRUE(next->served.get());
  });
  EXPECT_LT(took, fallback_period * 2);
  next->lock.unlock(next->owner);
}

}  // namespace
}  // namespace mortise::contract
