// SPDX-License-Identifier: MIT
// Goal: a lost or late message never makes a second hold, an orphaned grant, or a false success
// (S5). Method: a store that loses requests and replies, or delays them, while somebody acquires.
#include "model/seed.hpp"
#include "support/contract_suites.hpp"

#include <algorithm>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace mortise::contract {
namespace {

/// A lease long enough for what these tests do to it; its command time-out is a sixth of it.
constexpr std::chrono::milliseconds calm_lease{1'200};

// Promise: S5
MORTISE_TEST(LostMessages, ALostReplyIsRetriedAsTheSameAttempt, Hook::lost_messages) {
  Party taker = party();
  Client other = client();
  store().misbehave({.lose_reply = 1});
  Lock lock = taker.client.make_lock("name", {.lease = 3 * calm_lease});
  Worker thread;
  const Owner owner = Owner::unique();
  auto taken = thread.start([&] { return lock.acquire({.owner = owner}); });
  // The server has executed the request, and its answer is lost. Ask it again in vain, once.
  ASSERT_TRUE(eventually([&] { return taker.probe->counts().acquires >= 2; }));
  const AttemptId attempt = taker.probe->last_attempt("name")->request().attempt;
  store().misbehave({});
  // Far sooner than by the lease of the grant that nobody heard of.
  EXPECT_TRUE(comes(taken, 3 * calm_lease / 2)) << "it waited for itself";
  EXPECT_TRUE(taken.get());
  EXPECT_EQ(taker.probe->last_grant("name")->attempt, attempt) << "another attempt was made";
  EXPECT_EQ(lock.hold_count(owner), 1U);
  EXPECT_FALSE(other.make_lock("name").try_lock());
  EXPECT_EQ(lock.release(owner), Released::released);
  Lock next = other.make_lock("name");
  EXPECT_TRUE(next.try_lock()) << "the repeated request left a second hold behind";
  next.unlock();
}

MORTISE_TEST(LostMessages, ALostRequestIsRetried, Hook::lost_messages) {
  Party taker = party();
  store().misbehave({.lose_request = 1});
  Lock lock = taker.client.make_lock("name", {.lease = calm_lease});
  Worker thread;
  const Owner owner = Owner::unique();
  auto taken = thread.start([&] { return lock.acquire({.owner = owner}); });
  ASSERT_TRUE(eventually([&] { return taker.probe->counts().acquires >= 2; }));
  store().misbehave({});
  EXPECT_TRUE(taken.get());
  EXPECT_EQ(lock.release(owner), Released::released);
}

// Promise: S5
MORTISE_TEST(LostMessages, OnlyAMissingReplyIsInDoubt, Hook::lost_messages) {
  Party one = party();
  Client other = client();
  one.client.check(patience);  // what is lost is the reply, and not the time to connect
  store().misbehave({.lose_reply = 1});
  Lock lock = one.client.make_lock("name", {.lease = calm_lease});
  std::error_code ec;
  EXPECT_FALSE(lock.try_lock_for(100ms, ec));
  EXPECT_EQ(ec, Errc::in_doubt);
  EXPECT_TRUE(is_ambiguous(ec));
  EXPECT_TRUE(is_retryable(ec));
  EXPECT_FALSE(is_contention(ec));
  // A quorum whose connections each lost reply costs may have too few of them up for this one: then
  // it is not sent, or surely nothing of it is left.
  const AttemptId first = one.probe->last_attempt("name")->request().attempt;
  EXPECT_FALSE(lock.try_lock(ec));
  const auto second = one.probe->last_attempt("name");
  ASSERT_NE(second->request().attempt, first);
  const bool gone = second->progress() == Acquisition::Progress::unsent ||
                    (second->done() && !second->failure() && second->grant().number == 0);
  if (ec != Errc::in_doubt) {
    EXPECT_EQ(ec, Errc::unavailable);
    EXPECT_TRUE(gone) << "it may have the name";
  }
  EXPECT_EQ(lock.hold_count(), 0U);
  EXPECT_THROW(static_cast<void>(lock.try_lock_for(50ms)), Error);
  store().misbehave({});
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, calm_lease + fallback_period * 3)) << "nobody cleaned up";
  next.unlock();
}

MORTISE_TEST(LostMessages, WhoWasToldToWaitIsNotInDoubt, Hook::lost_messages) {
  Client one = client();
  Party other = party();
  Lock held = one.make_lock("name");
  held.lock();
  Lock wanted = other.client.make_lock("name");
  Worker waiter;
  auto outcome = waiter.start([&] {
    std::error_code ec;
    EXPECT_FALSE(wanted.acquire({.wait = 300ms}, ec));
    return ec;
  });
  ASSERT_TRUE(eventually([&] {
    const auto attempt = other.probe->last_attempt("name");
    return attempt && attempt->progress() == Acquisition::Progress::queued;
  }));
  store().misbehave({.lose_reply = 1});
  // Where a lost reply costs the connection, that may be the last news that it has.
  const std::error_code ec = outcome.get();
  EXPECT_TRUE(ec == Errc::timeout || (!ground().answers_at_once && ec == Errc::unavailable))
      << ec.message();
  store().misbehave({});
  held.unlock();
}

// Promise: S5
MORTISE_TEST(LostMessages, AnAttemptInDoubtIsUndoneBeforeItsLeaseEnds, Hook::lost_messages) {
  Client one = client();
  Client other = client();
  one.check(test::patience);  // connecting is not what the 50 ms below are for
  // The lease is half a minute: who gets the name sooner gets it because it was given back.
  Lock lock = one.make_lock("name");
  store().misbehave({.lose_reply = 1});
  std::error_code ec;
  EXPECT_FALSE(lock.try_lock_for(50ms, ec));
  EXPECT_EQ(ec, Errc::in_doubt);
  store().misbehave({});
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, fallback_period * 5));
  next.unlock();
}

// Promise: S5
MORTISE_TEST(LostMessages, ALateGrantIsUndone, Hook::delays) {
  Party late = party();
  Client other = client();
  store().misbehave({.delay_min = 150ms, .delay_max = 150ms});
  Lock lock = late.client.make_lock("name");
  std::error_code ec;
  EXPECT_FALSE(lock.try_lock_for(50ms, ec));
  EXPECT_TRUE(ec) << "nobody else holds it: not contention";
  EXPECT_EQ(lock.hold_count(), 0U);
  const auto attempt = late.probe->last_attempt("name");
  // The grant reaches the client although it gave up on it.
  ASSERT_TRUE(eventually([&] { return attempt->done(); }));
  store().misbehave({});
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, fallback_period * 5)) << "an orphaned grant holds the name";
  EXPECT_EQ(lock.hold_count(), 0U);
  next.unlock();
}

// Promise: S5
MORTISE_TEST(LostMessages, ADelayedDuplicateIsNoOrphanedGrant, Hook::delays, Hook::late_copies) {
  Party taker = party();
  Client other = client();
  store().misbehave({.delay_min = 1ns, .delay_max = 1ms});
  Lock lock = taker.client.make_lock("name");
  ASSERT_TRUE(lock.try_lock_for(patience));
  const auto attempt = taker.probe->last_attempt("name");
  ASSERT_EQ(lock.release(), Released::released);
  // The same request once more, as a network might deliver it after all.
  const auto duplicate = std::make_shared<Acquisition>(attempt->request());
  taker.probe->backend().acquire(duplicate);
  ASSERT_TRUE(eventually([&] { return duplicate->done(); }));
  EXPECT_EQ(duplicate->grant().number, 0U) << "an attempt that was over was granted again";
  Lock next = other.make_lock("name");
  EXPECT_TRUE(next.try_lock_for(patience));
  next.unlock();
}

MORTISE_TEST(LostMessages, ALostReplyToAReleaseStillFreesTheName, Hook::lost_messages) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  lock.lock();
  store().misbehave({.lose_reply = 1});
  EXPECT_EQ(lock.release(), Released::unknown);
  EXPECT_EQ(lock.hold_count(), 0U);
  store().misbehave({});
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, fallback_period * 3));
  next.unlock();
}

MORTISE_TEST(LostMessages, ALostRequestOfAReleaseIsRepeated, Hook::lost_messages) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  lock.lock();
  store().misbehave({.lose_request = 1});
  EXPECT_EQ(lock.release(), Released::unknown);
  store().misbehave({});
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, fallback_period * 5)) << "only the end of the lease frees it";
  next.unlock();
}

MORTISE_TEST(LostMessages, WhoeverLeavesLeavesNothingBehind, Hook::delays) {
  // Threads of two clients wait for moments, are stopped, inherit each other's attempts and hand
  // over to each other, on a network that turns the order of messages around.
  Client holder = client();
  Client ours = client({.turn_handoffs = 1});
  Client theirs = client();
  const std::uint64_t seed = model::test_seed();
  store().misbehave({.delay_min = 0ns, .delay_max = 500us, .seed = seed});
  Lock held = holder.make_lock("name");
  for (int round = 0; round < 60; ++round) {
    std::error_code ec;
    ASSERT_TRUE(held.acquire({.wait = patience}, ec))
        << "lost in round " << round << ": " << ec.message();
    std::stop_source stop;
    const auto leave = [&](Lock lock, int n) {
      const auto wait = std::chrono::microseconds(100 + 37 * ((round * 7 + n * 13) % 40));
      std::error_code why;
      if (!lock.acquire({.wait = wait, .stop = stop.get_token()}, why)) {
        EXPECT_TRUE(is_retryable(why) || why == Errc::cancelled) << why.message();
        EXPECT_EQ(lock.hold_count(), 0U);
        return;
      }
      static_cast<void>(lock.release());
    };
    std::vector<std::jthread> threads;
    for (int n = 0; n < 3; ++n) {
      threads.emplace_back(leave, ours.make_lock("name"), 2 * n);
      threads.emplace_back(leave, theirs.make_lock("name"), 2 * n + 1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50 * (round % 20)));  // any moment
    held.unlock();
    if (round % 3 == 0) stop.request_stop();
  }
}

/// A hold as its owner could know it.
struct Believed {
  Token token;
  Instant from;
  Instant until;
};

// Promise: S1
MORTISE_TEST(LostMessages, ExclusionSurvivesABadNetwork, Quality::leases, Hook::lost_messages,
             Hook::delays) {
  Client one = client({.turn_handoffs = 2});
  Client other = client();
  store().misbehave({.lose_request = 0.1,
                     .lose_reply = 0.1,
                     .lose_push = 0.2,
                     .delay_min = 0ns,
                     .delay_max = 3ms,
                     .seed = model::test_seed()});
  std::mutex mutex;
  std::vector<Believed> holds;
  const auto work = [&](Lock lock) {
    // With some seeds the first lost messages cost whole leases: then it takes longer.
    constexpr std::size_t enough = 12;
    const Instant end = BootClock::now() + 2s;
    const auto have = [&] {
      const std::lock_guard guard(mutex);
      return holds.size();
    };
    while (BootClock::now() < end || (have() < enough && BootClock::now() < end + 20s)) {
      std::error_code ec;
      if (!lock.try_lock_for(200ms, ec)) continue;
      Believed hold{.token = lock.token(), .from = BootClock::now(), .until = {}};
      std::this_thread::sleep_for(1ms);
      // Renewals may have moved the deadline: what counts is what the owner saw last.
      const std::chrono::nanoseconds valid = lock.valid_for();
      const Instant seen = BootClock::now();
      hold.until = valid > 0ns ? seen : hold.from;
      static_cast<void>(lock.release());
      const std::lock_guard guard(mutex);
      holds.push_back(hold);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back(work, one.make_lock("name", {.lease = short_lease() * 2}));
      threads.emplace_back(work, other.make_lock("name", {.lease = short_lease() * 2}));
    }
  }
  store().misbehave({});
  std::sort(holds.begin(), holds.end(),
            [](const Believed& a, const Believed& b) { return a.token < b.token; });
  ASSERT_GT(holds.size(), 10U) << "the network was so bad that nothing was proved";
  for (std::size_t i = 1; i < holds.size(); ++i) {
    EXPECT_NE(holds[i - 1].token, holds[i].token);
    EXPECT_LE(holds[i - 1].until, holds[i].from) << "two holds overlap";
  }
  Client successor = client();
  Lock after = successor.make_lock("name");
  EXPECT_TRUE(taken_within(after, short_lease() * 2 + fallback_period * 4))
      << "an orphaned grant is left";
  after.unlock();
}

}  // namespace
}  // namespace mortise::contract
