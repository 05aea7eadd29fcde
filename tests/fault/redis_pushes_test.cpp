// SPDX-License-Identifier: MIT
// Goal: a grant that is pushed is believed while its provisional lease lasts, by the one waiter
// that wants it, and a waiter counts as alive by more than a subscription (L2, L5, S1). Method:
// pushes that are lost or late, a monitor that hears everything, waiters that died without a word.
#include "fault/redis_fixture.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"

#include <unistd.h>

#include <thread>

namespace mortise::fault {
namespace {

constexpr std::chrono::seconds fallback_period{1};
constexpr std::chrono::minutes killed_after{5};

class RedisPushes : public RedisTest {};

/// A process that holds the name, or waits for it, until it is killed. Start it before any thread.
model::Process start_process(const std::string& url, const contract::Line& tells,
                             const LockOptions& options = {}) {
  return model::Process::fork_child([&] {
    Client mine(url);
    Lock lock = mine.make_lock("a", options);
    lock.lock();
    tells.tell('h');
    static_cast<void>(contract::Line().hear(killed_after));
    return 0;
  });
}

// Promise: L2
TEST_F(RedisPushes, AWaiterWhosePushesAreLostIsServedWithinTheFallbackPeriod) {
  Proxy proxy(server().port());
  proxy.lose_push(1);
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  Party waiter(Client(proxy.url()), "a");
  for (int i = 0; i < 3; ++i) {
    lock.lock();
    auto served = waiter.start();
    ASSERT_TRUE(come_to_wait("a"));
    lock.unlock();
    EXPECT_TRUE(comes(served, fallback_period + slack)) << i;
    EXPECT_EQ(waiter.release(), Released::released);
  }
  EXPECT_GE(proxy.counts().lost_pushes, 3U);
}

// Promise: S8
TEST_F(RedisPushes, APushThatIsLaterThanItsProvisionalLeaseIsNotBelieved) {
  Proxy proxy(server().port());
  proxy.delay_push(3s, 3s);
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party late(Client(proxy.url()), "a");
  // Its fallback would find the grant sooner than the push does: that is kept from it as well, and
  // so is a new connection, by which it asks on a busy machine just before the provisional lease
  // ends.
  auto served = late.start();
  ASSERT_TRUE(come_to_wait("a"));
  Party next(client(), "a");
  auto also = next.start();
  ASSERT_TRUE(come_to_wait("a", 2));
  proxy.freeze(true, Proxy::Connections::commands);
  proxy.refuse(true);
  const Token token = lock.token();
  lock.unlock();
  ASSERT_TRUE(is_held("a"));
  // The provisional lease ends, and the next one is served.
  ASSERT_TRUE(comes(also, 2s + 1s + slack));
  const Token token_of_next = also.get();
  EXPECT_GT(token_of_next, token);
  EXPECT_FALSE(comes_within(served, 0s)) << "two hold the lock";
  proxy.heal();
  // The push arrives, and those that it has sent meanwhile.
  ASSERT_TRUE(eventually([&] { return proxy.pushes() >= 1; }));
  EXPECT_FALSE(comes_within(served, 1500ms)) << "two hold the lock";
  EXPECT_GT(next.run([&] { return next.lock().valid_for(); }), 0ns);
  EXPECT_EQ(next.release(), Released::released);
  ASSERT_TRUE(comes(served, 4s));
  EXPECT_GT(served.get(), token_of_next);
  EXPECT_EQ(late.release(), Released::released);
  expect_free("a");
}

// Something on the way has forgotten the idle connection: nobody is told of anything any more.
TEST_F(RedisPushes, AnInboxThatIsSilentlyGoneIsReplacedWhileSomebodyWaits) {
  Proxy proxy(server().port());
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party waiter(Client(proxy.url()), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  const std::uint64_t before = proxy.counts().accepted;
  ASSERT_EQ(proxy.freeze(true, Proxy::Connections::inboxes), 1U);
  ASSERT_TRUE(eventually([&] { return proxy.counts().accepted > before; }, 6s + slack));
  ASSERT_TRUE(eventually([&] { return proxy.connections(Proxy::Connections::inboxes) == 2; }));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes(served, 1s + slack));
  EXPECT_EQ(waiter.release(), Released::released);
  proxy.heal();
}

TEST_F(RedisPushes, ALatePushOfAGrantThatTheReplyToldFirstChangesNothing) {
  Proxy proxy(server().port());
  proxy.delay_push(1300ms, 1300ms);
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party late(Client(proxy.url()), "a", {.lease = 6s});
  auto served = late.start();
  ASSERT_TRUE(come_to_wait("a"));
  lock.unlock();
  ASSERT_TRUE(comes(served, fallback_period + slack));
  ASSERT_EQ(proxy.pushes(), 1U);
  // It is under way, and comes into the hold that it tells of.
  const std::stop_token lost = late.run([&] { return late.lock().lost(); });
  EXPECT_FALSE(happens_within([&] { return lost.stop_requested() || !is_held("a"); }, 1s));
  EXPECT_EQ(late.release(), Released::released);
  expect_free("a");
}

// Two grants of one attempt: the first is told while all its traffic stands still, and lapses; the
// second is told by a reply. Then both pushes come, and neither may be taken for an orphaned grant.
// Promise: S1
TEST_F(RedisPushes, AnOlderPushThatComesIntoALaterHoldDoesNotEndIt) {
  Proxy proxy(server().port());
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party late(Client(proxy.url()), "a");
  auto served = late.start();
  ASSERT_TRUE(come_to_wait("a"));
  proxy.freeze(true, Proxy::Connections::inboxes);
  proxy.blackhole(true);
  lock.unlock();
  ASSERT_TRUE(is_held("a")) << "the first push had no reader";
  ASSERT_TRUE(lock.try_lock_for(patience)) << "its provisional lease did not lapse";
  proxy.blackhole(false);
  ASSERT_TRUE(come_to_wait("a")) << "it did not queue again";
  lock.unlock();
  ASSERT_TRUE(comes(served, 3 * fallback_period));
  const std::stop_token lost = late.run([&] { return late.lock().lost(); });
  const std::uint64_t before = server().talk().command_stats()["evalsha"];
  proxy.heal();
  ASSERT_TRUE(eventually([&] { return proxy.pushes() >= 2; }));
  // Whatever it makes of them, it has told the server soon after.
  EXPECT_FALSE(happens_within([&] { return lost.stop_requested() || !is_held("a"); }, 500ms));
  EXPECT_LE(server().talk().command_stats()["evalsha"], before + 1) << "something was given back";
  EXPECT_GT(late.run([&] { return late.lock().valid_for(); }), 0ns);
  EXPECT_EQ(late.release(), Released::released);
  expect_free("a");
}

TEST_F(RedisPushes, AGrantThatCameWhenNobodyWantedItIsGivenBack) {
  Proxy proxy(server().port());
  proxy.delay_push(600ms, 600ms);
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Client mine(proxy.url());
  Lock waits = mine.make_lock("a");
  Worker waiter;
  auto gives_up = waiter.start([&] { return waits.try_lock_for(250ms); });
  ASSERT_TRUE(come_to_wait("a"));
  // Its cancel stays on the way, so that it leaves before it learns that it owns the lock.
  proxy.freeze(true, Proxy::Connections::commands);
  lock.unlock();
  EXPECT_FALSE(gives_up.get());
  EXPECT_TRUE(is_held("a"));
  proxy.freeze(false);
  EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 1500ms))
      << "given back by its provisional lease only";
  expect_free("a");
}

TEST_F(RedisPushes, AMonitorDoesNotKeepAKilledWaiterAlive) {
  RedisTalk hears = monitor();
  const contract::Line line;
  const std::string url = server().url();
  model::Process holder = start_process(url, line, {.lease = 2s});
  ASSERT_EQ(line.hear(patience), 'h');
  model::Process dead = start_process(url, line);
  ASSERT_TRUE(come_to_wait("a", 1));
  Party living(client(), "a");
  auto served = living.start();
  ASSERT_TRUE(come_to_wait("a", 2));
  dead.kill();
  holder.kill();
  // The holder's lease, the dead one's provisional lease where it was silent for too short a time.
  EXPECT_TRUE(comes(served, 2s + 3 * fallback_period));
  EXPECT_EQ(living.release(), Released::released);
  expect_free("a");
  EXPECT_TRUE(hears.receive(patience)) << "the monitor heard nothing: it did not count";
}

TEST_F(RedisPushes, AMonitorDoesNotKeepASilentWaiterAlive) {
  RedisTalk hears = monitor();
  Proxy proxy(server().port());
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party silent(Client(proxy.url()), "a", {.lease = 2s});
  auto silent_call = silent.start();
  ASSERT_TRUE(come_to_wait("a", 1));
  Party living(client(), "a");
  auto served = living.start();
  ASSERT_TRUE(come_to_wait("a", 2));
  proxy.blackhole(true);
  // The server still has both its connections, and hears nothing any more.
  const std::string silent_one = first_attempt("a");
  const auto stamp_of_it = [&] {
    return server().talk().command({"HGET", key("a") + ":waiters", silent_one}).text;
  };
  const std::string stamp = stamp_of_it();
  ASSERT_FALSE(stamp.empty());
  const auto since = std::chrono::steady_clock::now();
  ASSERT_TRUE(eventually(
      [&] { return std::chrono::steady_clock::now() - since > 3 * fallback_period + 50ms; }));
  EXPECT_EQ(stamp_of_it(), stamp) << "it was heard of";
  lock.unlock();
  EXPECT_TRUE(comes(served, slack)) << "its push had a reader, and it was believed to live";
  EXPECT_EQ(living.release(), Released::released);
  proxy.heal();
  // It queues again by itself.
  EXPECT_TRUE(comes(silent_call));
  EXPECT_EQ(silent.release(), Released::released);
  expect_free("a");
}

TEST_F(RedisPushes, AForkedChildOfAWaiterDoesNotKeepHimAlive) {
  const contract::Line holds;
  const contract::Line forks;
  const std::string url = server().url();
  model::Process holder = start_process(url, holds, {.lease = 1s});
  ASSERT_EQ(holds.hear(patience), 'h');
  model::Process dead = model::Process::fork_child([&] {
    Client mine(url);
    Lock lock = mine.make_lock("a");
    std::thread waiter([&] { lock.lock(); });
    if (!come_to_wait("a", 1)) return 1;
    if (::fork() == 0) {
      forks.tell('f');
      static_cast<void>(contract::Line().hear(5s));
      ::_exit(0);
    }
    waiter.join();
    return 0;
  });
  ASSERT_EQ(forks.hear(patience), 'f');
  Party living(client(), "a");
  auto served = living.start();
  ASSERT_TRUE(come_to_wait("a", 2));
  dead.kill();
  holder.kill();
  EXPECT_TRUE(comes(served, 1s + 1s)) << "the child kept its subscription";
  EXPECT_EQ(living.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
