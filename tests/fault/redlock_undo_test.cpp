// SPDX-License-Identifier: MIT
// Goal: what an attempt took without getting the lock is given back at once, by its own id and
// nobody else's, whether the race was lost, the caller left, or the answer came late; and whoever
// waits gets the lock. Method: clients of some of the servers, that hold a majority or a half of
// them; proxies that keep, lose and delay what goes to the others.
#include "fault/redlock_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <stop_token>

namespace mortise::fault {
namespace {

// Leases so long that nothing here ends by them.
const LockOptions undone_late{.lease = 20s};
const LockOptions undone_soon{.lease = 900ms};

class RedlockUndo : public RedlockTest {
 protected:
  /// A client to whom these are all the servers that there are: what it holds is held on these.
  [[nodiscard]] Client client_of(std::initializer_list<std::size_t> some) {
    std::vector<std::uint16_t> ports;
    for (const std::size_t i : some) ports.push_back(servers()[i].port());
    return Client(test::redlock_url(ports));
  }
  /// Takes the lock on all of these: where its client is not connected yet it takes a majority.
  void take(Lock& lock, std::initializer_list<std::size_t> some) {
    const auto everywhere = [&] {
      return std::all_of(some.begin(), some.end(),
                         [&](std::size_t i) { return is_held(i, lock.name()); });
    };
    ASSERT_TRUE(eventually([&] {
      lock.lock();
      if (eventually(everywhere, 50ms)) return true;
      lock.unlock();
      return false;
    }));
  }
  [[nodiscard]] std::uint64_t scripts(std::size_t server) {
    auto stats = servers()[server].talk().command_stats();
    return stats["evalsha"] + stats["eval"];
  }
};

TEST_F(RedlockUndo, ALostRaceIsUndoneAtOnceAndIsContention) {
  Client theirs = client_of({0, 1, 2});
  Client mine = ready_client();
  Lock held = theirs.make_lock("a", undone_late);
  take(held, {0, 1, 2});
  Lock lock = mine.make_lock("a", undone_late);
  for (int i = 0; i < 20; ++i) {
    std::error_code error;
    EXPECT_FALSE(lock.try_lock(error));
    EXPECT_FALSE(error) << error.message();
    EXPECT_TRUE(eventually([&] { return !is_held(3, "a") && !is_held(4, "a"); }, 1s)) << i;
  }
  for (const std::size_t i : {0U, 1U, 2U}) EXPECT_TRUE(is_held(i, "a")) << i;
  EXPECT_FALSE(held.lost().stop_requested());
  EXPECT_EQ(held.release(), Released::released);
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

TEST_F(RedlockUndo, AWaiterKeepsNothingWhileItWaitsAndIsServedSoonAfterTheRelease) {
  Client theirs = client_of({0, 1, 2});
  Lock held = theirs.make_lock("a", undone_late);
  take(held, {0, 1, 2});
  Party waiter(ready_client(), "a", undone_late);
  auto served = waiter.start();
  ASSERT_TRUE(waiter.worker().falls_asleep());
  // It may ask at any moment, but it does not sit on the two.
  std::size_t found = 0;
  constexpr std::size_t looks = 200;
  for (std::size_t i = 0; i < looks; ++i) {
    found += is_held(3, "a") || is_held(4, "a") ? 1U : 0U;
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_LT(found, looks / 2);
  EXPECT_FALSE(comes_within(served, 0s));
  EXPECT_EQ(held.release(), Released::released);
  EXPECT_TRUE(comes(served, 2s));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_F(RedlockUndo, ACallerThatLeavesLeavesNothingBehind) {
  proxied();
  Client mine = ready_client();
  // Two grant at once, three never answer; and the caller is stopped while it waits for them.
  for (const std::size_t i : {0U, 1U, 2U}) servers().proxy(i).blackhole(true);
  Lock lock = mine.make_lock("a", undone_late);
  std::stop_source source;
  Worker worker;
  auto outcome = worker.start([&] {
    std::error_code error;
    EXPECT_FALSE(lock.acquire({.wait = 10s, .stop = source.get_token()}, error));
    return error;
  });
  ASSERT_TRUE(eventually([&] { return holds("a") > 0; }));
  source.request_stop();
  ASSERT_TRUE(comes(outcome, 500ms + slack));
  EXPECT_EQ(lock.hold_count(), 0U);
  expect_free("a");
  // The three get it all later.
  for (const std::size_t i : {0U, 1U, 2U}) servers().proxy(i).blackhole(false);
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a", 5s);
}

TEST_F(RedlockUndo, ARequestThatArrivesWhenItsCallerHasGoneTakesNothing) {
  proxied();
  Client mine = ready_client();
  for (const std::size_t i : {0U, 1U, 2U}) {
    servers().proxy(i).hold_requests(true, Proxy::Connections::commands);
  }
  Lock lock = mine.make_lock("a", undone_soon);
  std::error_code error;
  EXPECT_FALSE(lock.try_lock_for(100ms, error));
  EXPECT_TRUE(is_retryable(error)) << error.message();
  // By now the client goes on by new connections, and the undoing has passed.
  Lock next = mine.make_lock("next", undone_soon);
  ASSERT_TRUE(next.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] { return holds("next") == servers().size(); }, 5s));
  std::size_t arrived = 0;
  for (const std::size_t i : {0U, 1U, 2U}) {
    const std::uint64_t before = scripts(i);
    const std::size_t sent = servers().proxy(i).release_held();
    arrived += sent;
    ASSERT_TRUE(eventually([&] { return scripts(i) >= before + sent; }));
  }
  EXPECT_GT(arrived, 0U);
  expect_free("a", 300ms);
  next.unlock();
}

TEST_F(RedlockUndo, ARequestThatArrivesAfterItsReleaseTakesNothing) {
  proxied();
  Client mine = ready_client();
  // Two keep it; the other three make the majority.
  for (const std::size_t i : {3U, 4U}) {
    servers().proxy(i).hold_requests(true, Proxy::Connections::commands);
  }
  Lock lock = mine.make_lock("a", undone_soon);
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(holds("a"), 3U);
  // The two are asked anew on new connections, once they were given up.
  EXPECT_TRUE(eventually([&] { return holds("a") == 5; }, 5s)) << "no renewal reached them";
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
  for (const std::size_t i : {3U, 4U}) {
    const std::uint64_t before = scripts(i);
    const std::size_t sent = servers().proxy(i).release_held();
    ASSERT_TRUE(eventually([&] { return scripts(i) >= before + sent; }));
  }
  expect_free("a", 300ms);
}

// Whoever waits asks again and again under one name, and takes back what did not suffice. Of two
// servers all of that is kept on its way, until it has the lock with their votes.
TEST_F(RedlockUndo, AnUndoThatArrivesInALaterRoundFreesNothing) {
  Client theirs = client_of({0, 1, 2});
  Lock held = theirs.make_lock("a", undone_late);
  take(held, {0, 1, 2});
  proxied();
  Party waiter(ready_client(), "a", {.lease = 3s});
  for (const std::size_t i : {3U, 4U}) {
    servers().proxy(i).hold_requests(true, Proxy::Connections::commands);
  }
  auto served = waiter.start();
  ASSERT_TRUE(
      eventually([&] { return servers().proxy(3).held() >= 2 && servers().proxy(4).held() >= 2; }));
  // By new connections the two vote for it now and then; the fifth it does not reach at all.
  ASSERT_TRUE(eventually([&] { return is_held(3, "a"); }));
  servers().proxy(0).refuse(true);
  servers().proxy(0).cut_all();
  EXPECT_EQ(held.release(), Released::released);
  ASSERT_TRUE(comes(served, 5s));
  // By the round, or the first renewal where one was not reached just then.
  ASSERT_TRUE(eventually([&] { return is_held(3, "a") && is_held(4, "a"); }, 5s));
  for (const std::size_t i : {3U, 4U}) {
    const std::uint64_t before = scripts(i);
    const std::size_t sent = servers().proxy(i).release_held();
    EXPECT_GE(sent, 2U);
    ASSERT_TRUE(eventually([&] { return scripts(i) >= before + sent; }));
    EXPECT_TRUE(is_held(i, "a")) << i << ": a vote that a hold rests on is gone";
  }
  EXPECT_GT(waiter.run([&] { return waiter.lock().valid_for(); }), 0ns);
  EXPECT_EQ(waiter.release(), Released::released);
}

TEST_F(RedlockUndo, AGrantOfASlowServerIsGivenBackWithTheRest) {
  proxied();
  Client mine = ready_client();
  for (const std::size_t i : {0U, 4U}) {
    servers().proxy(i).delay(30ms, 60ms, Proxy::Direction::to_server);
  }
  Lock lock = mine.make_lock("a", undone_late);
  for (int i = 0; i < 20; ++i) {
    lock.lock();
    EXPECT_EQ(lock.release(), Released::released);
  }
  expect_free("a", 5s);
}

TEST_F(RedlockUndo, LostRequestsAndRepliesLeaveNothingAndTokensGrow) {
  proxied();
  Client mine = ready_client();
  for (std::size_t i = 0; i < servers().size(); ++i) {
    servers().proxy(i).lose_reply(0.1);
    servers().proxy(i).lose_request(0.1);
  }
  Lock lock = mine.make_lock("a", {.lease = 3s});
  Token last;
  int held = 0;
  for (int i = 0; i < 60; ++i) {
    std::error_code error;
    if (!lock.try_lock_for(1s, error)) {
      EXPECT_TRUE(is_retryable(error)) << error.message();
      continue;
    }
    ++held;
    EXPECT_GT(lock.token(), last);
    last = lock.token();
    lock.unlock();
  }
  EXPECT_GT(held, 20);
  for (std::size_t i = 0; i < servers().size(); ++i) servers().proxy(i).heal();
  expect_free("a", 8s);
}

TEST_F(RedlockUndo, ARenewalOfALostHoldDoesNotProlongAStrangers) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", undone_soon);
  lock.lock();
  const std::stop_token lost = lock.lost();
  const Token token = lock.token();
  // An administrator deletes it everywhere, and somebody else is quicker than the renewal.
  for (std::size_t i = 0; i < servers().size(); ++i) {
    servers()[i].talk().expect_ok({"DEL", key("a")});
  }
  Client other = client();
  Lock theirs = other.make_lock("a", {.lease = 1500ms, .renew = false});
  ASSERT_TRUE(theirs.try_lock());
  EXPECT_GT(theirs.token(), token);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }, 900ms));
  // Nobody renews its hold: that ends by itself, and in time.
  EXPECT_TRUE(eventually([&] { return holds("a") == 0; }, 1500ms + 1s));
  EXPECT_EQ(lock.release(), Released::was_lost);
}

// Two clients, each of which reaches one half of an even number of servers sooner.
class RedlockTies : public RedlockTest {
 protected:
  [[nodiscard]] Client client_near(std::size_t first, std::size_t second) {
    std::vector<std::uint16_t> ports;
    for (std::size_t i = 0; i < servers().size(); ++i) {
      if (i == first || i == second) {
        ports.push_back(servers()[i].port());
      } else {
        Proxy& far = *networks_.emplace_back(std::make_unique<Proxy>(servers()[i].port()));
        far.delay(30ms, 30ms, Proxy::Direction::to_server);
        ports.push_back(far.port());
      }
    }
    return Client(test::redlock_url(ports));
  }

 private:
  std::vector<std::unique_ptr<Proxy>> networks_;
};

TEST_F(RedlockTies, OfTwoClientsOnFourServersEnd) {
  static_cast<void>(servers(4));
  Client first = client_near(0, 1);
  Client second = client_near(2, 3);
  first.check(patience);
  second.check(patience);
  Lock mine = first.make_lock("a", undone_late);
  Lock theirs = second.make_lock("a", undone_late);
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> inside{0};
    const auto cycle = [&inside](Lock& lock) {
      lock.lock();
      EXPECT_EQ(inside.fetch_add(1), 0);
      inside.fetch_sub(1);
      lock.unlock();
    };
    Worker one;
    Worker other;
    auto done = one.start([&] { cycle(mine); });
    auto also = other.start([&] { cycle(theirs); });
    ASSERT_TRUE(comes(done, 10s)) << round;
    ASSERT_TRUE(comes(also, 10s)) << round;
  }
  expect_free("a");
}

TEST_F(RedlockTies, OfManyClientsEnd) {
  constexpr int clients = 6;
  constexpr int cycles = 10;
  static_cast<void>(servers(4));
  std::vector<std::unique_ptr<Party>> parties;
  std::vector<std::future<void>> done;
  parties.reserve(clients);
  done.reserve(clients);
  std::atomic<int> inside{0};
  std::atomic<std::uint64_t> last{0};
  for (int i = 0; i < clients; ++i) {
    parties.push_back(std::make_unique<Party>(client(), "a", undone_late));
  }
  for (const auto& party : parties) {
    done.push_back(party->worker().start([&] {
      for (int cycle = 0; cycle < cycles; ++cycle) {
        party->lock().lock();
        EXPECT_EQ(inside.fetch_add(1), 0);
        const std::uint64_t token = party->lock().token().value();
        EXPECT_LT(last.exchange(token), token);
        inside.fetch_sub(1);
        party->lock().unlock();
      }
    }));
  }
  for (auto& one : done) ASSERT_TRUE(comes(one, 40s));
  expect_free("a");
}

// Two of four are no majority, and keep everybody from one: the renewal that found the hold lost
// has given them a whole lease more.
TEST_F(RedlockUndo, AHoldThatItsRenewalFindsLostKeepsNobodyOut) {
  static_cast<void>(servers(4));
  Client mine = ready_client();
  Client theirs = ready_client();
  Lock held = mine.make_lock("a", {.lease = 6s});
  take(held, {0, 1, 2, 3});
  for (const std::size_t i : {2U, 3U}) servers()[i].talk().expect_ok({"DEL", key("a")});
  ASSERT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s));
  Lock next = theirs.make_lock("a", undone_late);
  EXPECT_TRUE(taken_within(next, 3s));
  EXPECT_EQ(held.release(), Released::was_lost);
}

// The two that say no are quicker, and the hold is lost by their word: the others renew it then.
TEST_F(RedlockUndo, AHoldThatTwoQuickAnswersFindLostKeepsNobodyOut) {
  static_cast<void>(servers(4));
  Client theirs = client_of({0, 1, 2, 3});
  proxied();
  Client mine = ready_client();
  Lock held = mine.make_lock("a", {.lease = 6s});
  take(held, {0, 1, 2, 3});
  for (const std::size_t i : {0U, 1U}) servers()[i].talk().expect_ok({"DEL", key("a")});
  for (const std::size_t i : {2U, 3U}) servers().proxy(i).delay(60ms, 60ms);
  ASSERT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s));
  Lock next = theirs.make_lock("a", undone_late);
  EXPECT_TRUE(taken_within(next, 3s));
  EXPECT_EQ(held.release(), Released::was_lost);
}

}  // namespace
}  // namespace mortise::fault
