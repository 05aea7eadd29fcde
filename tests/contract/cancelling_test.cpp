// SPDX-License-Identifier: MIT
// Goal: a wait that ends without the lock ends when it should, says why, and leaves nothing behind
// (L3, section "what goes wrong"). Method: waiters that run out of time or are stopped, alone,
// before others, and at the very moment of their grant.
#include "support/contract_suites.hpp"

#include <memory>
#include <thread>
#include <vector>

namespace mortise::contract {
namespace {

MORTISE_TEST(Cancelling, ContentionIsAValue) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name", {.label = "the holder"});
  held.lock();
  Lock wanted = other.make_lock("name");
  std::error_code ec = Errc::protocol;
  EXPECT_FALSE(wanted.try_lock());
  EXPECT_FALSE(wanted.try_lock(ec));
  EXPECT_FALSE(ec) << "contention is no error";
  EXPECT_FALSE(wanted.try_lock_for(answer_time));
  ec = Errc::protocol;
  EXPECT_FALSE(wanted.try_lock_for(answer_time, ec));
  EXPECT_FALSE(ec) << "nor is it with a time limit";
  EXPECT_FALSE(wanted.acquire({.wait = answer_time}));
  EXPECT_FALSE(wanted.acquire({.wait = answer_time}, ec));
  EXPECT_EQ(ec, Errc::timeout);
  EXPECT_TRUE(is_contention(ec));
  EXPECT_TRUE(is_retryable(ec));
  EXPECT_FALSE(is_ambiguous(ec));
  EXPECT_EQ(wanted.hold_count(), 0U);
  held.unlock();
}

MORTISE_TEST(Cancelling, AnEmptyGuardKnowsTheHolder) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name", {.label = "the holder"});
  held.lock();
  Lock wanted = other.make_lock("name");
  for (const std::chrono::milliseconds wait : {0ms, answer_time}) {
    const Guard guard(wanted, {.wait = wait});
    EXPECT_FALSE(guard);
    EXPECT_EQ(guard.error(), Errc::timeout);
    EXPECT_NE(guard.error_text().find("name"), std::string::npos) << guard.error_text();
    EXPECT_FALSE(guard.token());
    EXPECT_EQ(guard.valid_for(), 0ns);
    ASSERT_TRUE(guard.holder().has_value());
    EXPECT_EQ(guard.holder()->label, "the holder");
  }
  Worker thread;
  Lock same_client = one.make_lock("name");
  thread.run([&] {
    const Guard guard(same_client, {.wait = 10ms});
    EXPECT_FALSE(guard);
    ASSERT_TRUE(guard.holder().has_value()) << "the holder is a thread of the same process";
    EXPECT_EQ(guard.holder()->label, "the holder");
  });
  held.unlock();
}

MORTISE_TEST(Cancelling, AWaiterBehindAWaiterKnowsTheHolder) {
  Client one = client();
  Party other = party();
  Lock held = one.make_lock("name", {.label = "the holder"});
  held.lock();
  Lock wanted = other.client.make_lock("name");
  Worker first;
  std::stop_source stop;
  auto waits = first.start([&] { return wanted.acquire({.stop = stop.get_token()}); });
  ASSERT_TRUE(eventually([&] {
    const auto attempt = other.probe->last_attempt("name");
    return attempt && attempt->progress() == Acquisition::Progress::queued;
  }));
  const Guard guard(wanted, {.wait = answer_time});
  EXPECT_EQ(guard.error(), Errc::timeout);
  ASSERT_TRUE(guard.holder().has_value());
  EXPECT_EQ(guard.holder()->label, "the holder");
  stop.request_stop();
  EXPECT_FALSE(waits.get());
  held.unlock();
}

MORTISE_TEST(Cancelling, NoTimeMeansOneTry) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  Lock wanted = other.make_lock("name");
  for (const std::chrono::nanoseconds wait : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
    EXPECT_TRUE(lock.acquire({.wait = wait}));
    EXPECT_FALSE(wanted.acquire({.wait = wait}));
    EXPECT_FALSE(wanted.try_lock_for(wait));
    lock.unlock();
  }
}

MORTISE_TEST(Cancelling, AStopTokenEndsTheWait) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  held.lock();
  for (Client* const waiting : {&one, &other}) {  // behind a thread, and behind the server
    Lock wanted = waiting->make_lock("name");
    const auto reaction = [&] {
      std::stop_source stop;
      Worker waiter;
      auto outcome = waiter.start([&] {
        std::error_code ec;
        EXPECT_FALSE(wanted.acquire({.stop = stop.get_token()}, ec));
        return ec;
      });
      EXPECT_TRUE(waiter.falls_asleep());
      return own_duration_of([&] {
        stop.request_stop();
        EXPECT_EQ(outcome.get(), Errc::cancelled);
      });
    };
    EXPECT_LE(best_of(5, allowance, reaction), allowance);
  }
  held.unlock();
  EXPECT_TRUE(held.try_lock());
  held.unlock();
}

MORTISE_TEST(Cancelling, IsNotThrown) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  held.lock();
  Lock wanted = other.make_lock("name");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(wanted.acquire({.stop = stop.get_token()})) << "stopped before it began";
  const Guard guard(wanted, {.stop = stop.get_token()});
  EXPECT_FALSE(guard);
  EXPECT_EQ(guard.error(), Errc::cancelled);
  EXPECT_EQ(guard.error_text(), "name: the wait was cancelled");
  held.unlock();
}

// Promise: L3
MORTISE_TEST(Cancelling, LeavesNoPlaceInTheQueue, Hook::counts) {
  have_long_leases();  // a client that has renewed a hold is notified of its own release
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  held.lock();
  Lock wanted = other.make_lock("name");
  Worker waiter;
  std::stop_source stop;
  auto stopped = waiter.start([&] { return wanted.acquire({.stop = stop.get_token()}); });
  ASSERT_TRUE(eventually([&] { return store().waiters() == 1; }));
  stop.request_stop();
  EXPECT_FALSE(stopped.get());
  EXPECT_EQ(store().waiters(), 0U);
  auto late = waiter.start([&] { return wanted.try_lock_for(50ms); });
  ASSERT_TRUE(eventually([&] { return store().waiters() == 1; }));
  EXPECT_FALSE(late.get());
  EXPECT_EQ(store().waiters(), 0U);
  const std::uint64_t pushes = store().pushes();
  held.unlock();
  EXPECT_EQ(store().pushes(), pushes) << "the lock was offered to somebody who has gone";
  EXPECT_TRUE(held.try_lock());
  held.unlock();
}

MORTISE_TEST(Cancelling, TheNextThreadTakesOverThePlaceInTheQueue, Quality::fair, Hook::counts) {
  Client holder = client();
  Client ours = client();
  Client theirs = client();
  Lock held = holder.make_lock("name");
  held.lock();
  Lock wanted = ours.make_lock("name");
  Lock rival = theirs.make_lock("name");
  std::stop_source stop;
  Worker first;
  Worker second;
  Worker third;
  auto stopped = first.start([&] { return wanted.acquire({.stop = stop.get_token()}); });
  ASSERT_TRUE(eventually([&] { return store().waiters() == 1; }));
  auto rivals = third.start([&] {
    const std::lock_guard hold(rival);
    return rival.token();
  });
  ASSERT_TRUE(eventually([&] { return store().waiters() == 2; }));
  auto successors = second.start([&] {
    const std::lock_guard hold(wanted);
    return wanted.token();
  });
  ASSERT_TRUE(second.falls_asleep());
  stop.request_stop();
  EXPECT_FALSE(stopped.get());
  EXPECT_EQ(store().waiters(), 2U) << "the place was given up and taken again";
  held.unlock();
  EXPECT_LT(successors.get(), rivals.get());
}

MORTISE_TEST(Cancelling, OfOneWaiterServesTheOthers) {
  // Threads of one client; the first of them asks the server for all, and is the one who leaves.
  Client holder = client();
  Client ours = client();
  Lock held = holder.make_lock("name");
  Lock wanted = ours.make_lock("name");
  for (int leaving = 0; leaving < 3; ++leaving) {
    held.lock();
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::future<bool>> outcomes;
    std::vector<std::stop_source> stops(3);
    for (const std::stop_source& stop : stops) {
      workers.push_back(std::make_unique<Worker>());
      outcomes.push_back(workers.back()->start([&wanted, token = stop.get_token()] {
        const bool served = wanted.acquire({.stop = token});
        if (served) wanted.unlock();
        return served;
      }));
      ASSERT_TRUE(workers.back()->falls_asleep());
    }
    stops[static_cast<std::size_t>(leaving)].request_stop();
    EXPECT_FALSE(outcomes[static_cast<std::size_t>(leaving)].get());
    held.unlock();
    for (int i = 0; i < 3; ++i) {
      if (i != leaving) {
        EXPECT_TRUE(outcomes[static_cast<std::size_t>(i)].get());
      }
    }
  }
}

MORTISE_TEST(Cancelling, AWaiterWithOtherOptionsIsNoSuccessor, Quality::holders) {
  Client holder = client();
  Client ours = client();
  Lock held = holder.make_lock("name");
  held.lock();
  Lock wanted = ours.make_lock("name", {.label = "first"});
  Lock different = ours.make_lock("name", {.label = "second"});
  std::stop_source stop;
  Worker first;
  Worker second;
  auto stopped = first.start([&] { return wanted.acquire({.stop = stop.get_token()}); });
  ASSERT_TRUE(first.falls_asleep());
  auto label = second.start([&] {
    const std::lock_guard hold(different);
    return different.holder().value_or(Holder{}).label;
  });
  ASSERT_TRUE(second.falls_asleep());
  stop.request_stop();
  EXPECT_FALSE(stopped.get());
  held.unlock();
  EXPECT_EQ(label.get(), "second");
}

/// Frees the lock just when waiters leave, many times, and looks whether it is lost on the way. The
/// sleep only varies the moment; nothing depends on it.
enum class Leaving { by_time, by_stop };
void race(Client& holder, Client& waiting, Leaving leaving, bool answers_at_once) {
  Lock held = holder.make_lock("name");
  Lock wanted = waiting.make_lock("name");
  const Owner owner = Owner::unique();
  Worker first;
  Worker second;
  Worker freeing;
  int served = 0;
  constexpr int rounds = 150;
  for (int i = 0; i < rounds; ++i) {
    ASSERT_TRUE(held.acquire({.wait = patience, .owner = owner})) << "lost in round " << i;
    std::stop_source stop;
    AcquireOptions options;
    if (leaving == Leaving::by_time) options.wait = std::chrono::microseconds(200 + 20 * (i % 20));
    if (leaving == Leaving::by_stop) options.stop = stop.get_token();
    const auto attempt = [&wanted, options, answers_at_once] {
      std::error_code ec;
      const bool got = wanted.acquire(options, ec);
      // Its time may be over before a server far away could say anything.
      const bool no_answer = !answers_at_once && is_retryable(ec);
      EXPECT_TRUE(got || is_contention(ec) || no_answer) << ec.message();
      EXPECT_EQ(wanted.hold_count(), got ? 1U : 0U);
      if (got) wanted.unlock();
      return got;
    };
    auto one = first.start(attempt);
    auto two = second.start(attempt);
    std::this_thread::sleep_for(std::chrono::microseconds(200 + 20 * (i % 20)));
    auto freed = freeing.start([&] { held.unlock(owner); });
    stop.request_stop();
    freed.get();
    served += one.get() ? 1 : 0;
    served += two.get() ? 1 : 0;
  }
  ::testing::Test::RecordProperty("served", served);
}

MORTISE_TEST(Cancelling, ATimeOutRacesWithTheGrant) {
  Client one = client();
  Client other = client();
  race(one, other, Leaving::by_time, ground().answers_at_once);
  race(one, one, Leaving::by_time, ground().answers_at_once);
}

MORTISE_TEST(Cancelling, AStopRacesWithTheGrant) {
  Client one = client();
  Client other = client();
  race(one, other, Leaving::by_stop, ground().answers_at_once);
  race(one, one, Leaving::by_stop, ground().answers_at_once);
}

MORTISE_TEST(Cancelling, ATryLooksOnceWhileAnotherThreadHolds) {
  Party both = party();
  Lock lock = both.client.make_lock("name");
  lock.lock();
  const Probe::Counts before = both.probe->counts();
  Worker thread;
  EXPECT_FALSE(thread.run([&] { return lock.try_lock(); }));
  EXPECT_EQ(both.probe->counts().all(), before.all()) << "the process knows the answer itself";
  lock.unlock();
  EXPECT_TRUE(thread.run([&] { return lock.try_lock(); }));
  thread.run([&] { lock.unlock(); });
}

}  // namespace
}  // namespace mortise::contract
