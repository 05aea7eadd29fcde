// SPDX-License-Identifier: MIT
// Goal: to take several locks as one comes to an end: within one time limit and the time of one
// request, whatever fails, and against callers who want the same in another order. Method: stores
// that are slow, cut off or silent; many threads; a look from outside at what is left.
#include <mortise/memory.hpp>

#include "support/contract_observer.hpp"
#include "support/contract_several.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

namespace mortise::contract {
namespace {

// Promise: L3
MORTISE_TEST(LockAll, HasOneTimeLimit) {
  Party one = party();
  Client other = client();
  Lock first = other.make_lock("a");
  Lock second = other.make_lock("b");
  first.lock();
  second.lock();
  std::vector<Lock> wanted = locks_of(one.client, {"a", "b"});
  Worker waiter;
  const std::chrono::milliseconds wait = 300ms;
  std::chrono::nanoseconds took{};
  auto done = waiter.start([&] {
    std::error_code ec;
    took = own_duration_of([&] { EXPECT_FALSE(lock_all(all_of(wanted), {.wait = wait}, ec)); });
    return ec;
  });
  ASSERT_TRUE(eventually([&] { return one.probe->counts().acquires >= 3; })) << "two, then one";
  first.unlock();  // it goes on to the next one, in what is left
  EXPECT_EQ(done.get(), Errc::timeout);
  EXPECT_LE(took, wait + allowance);
  // On a loaded machine the grant of "a" may arrive after the time limit. Then it is given back.
  EXPECT_TRUE(eventually([&] { return is_free_for(other, "a"); }));
  second.unlock();
}

MORTISE_TEST(LockAll, IsCancelled) {
  Party one = party();
  Client other = client();
  std::vector<Lock> wanted = locks_of(one.client, {"a", "b"});
  std::stop_source stop;
  Worker waiter;
  Lock b = other.make_lock("b");
  std::unique_lock held(b);  // which ends before the waiter has to
  auto done = waiter.start([&] {
    std::error_code ec;
    const Several none = lock_all(all_of(wanted), {.stop = stop.get_token()}, ec);
    EXPECT_FALSE(none);
    EXPECT_EQ(none.failed_name(), "b");
    return ec;
  });
  ASSERT_TRUE(eventually([&] { return one.probe->counts().releases == 1; }));
  ASSERT_TRUE(waiter.falls_asleep());
  stop.request_stop();
  ASSERT_EQ(done.wait_for(patience), std::future_status::ready);
  EXPECT_EQ(done.get(), Errc::cancelled);
  EXPECT_TRUE(is_free_for(other, "a"));
  held.unlock();
  EXPECT_FALSE(lock_all(all_of(wanted), {.stop = stop.get_token()})) << "it was stopped before";
  for (const Lock& lock : wanted) EXPECT_TRUE(is_free_for(other, lock.name()));
}

// A client's own hold, by another client of the process, ends with the time limit, and is no crash.
MORTISE_TEST(LockAll, OfOneNameByTwoClientsOfAStoreIsNeverHad) {
  Client one = client();
  Client two = client();
  Client other = client();
  Lock a = one.make_lock("a");
  Lock as_well = two.make_lock("a");
  EXPECT_FALSE(lock_all({a, as_well}, {.wait = 0s}));
  EXPECT_FALSE(lock_all({a, as_well}, {.wait = answer_time}));
  EXPECT_TRUE(is_free_for(other, "a"));
}

MORTISE_TEST(LockAll, TellsAFailureByItsName) {
  Client one = client();
  Client other = client();
  Client closed = client();
  // As the backend's own words begin, "memory server: ...", which are not the lock's name.
  const std::string begins = store().backend()->describe().name.substr(0, 1);
  Lock a = one.make_lock("a");
  Lock b = closed.make_lock(begins);
  Lock c = one.make_lock("~");
  closed.close();
  try {
    static_cast<void>(lock_all({a, b, c}));
    FAIL() << "a lock of a closed client was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::closed);
    EXPECT_EQ(std::string(error.what()).find(begins + ": "), 0U) << error.what();
  }
  std::error_code ec;
  const Several none = lock_all({a, b, c}, {}, ec);
  EXPECT_FALSE(none);
  EXPECT_EQ(ec, Errc::closed);
  EXPECT_EQ(none.failed_name(), begins);
  EXPECT_TRUE(is_free_for(other, "a"));
  EXPECT_TRUE(is_free_for(other, "~"));
}

MORTISE_TEST(LockAll, IsRefusedWithALostHold, Quality::loss) {
  take_any_clock();
  Client one = client();
  Client other = client();
  Lock a = one.make_lock("a");
  Lock b = one.make_lock("b", losable());
  b.lock();
  lose(b);
  std::error_code ec;
  EXPECT_EQ(lock_all({a, b}, {.wait = 0s}, ec).failed_name(), "b");
  EXPECT_EQ(ec, Errc::lost);
  EXPECT_EQ(b.hold_count(), 1U) << "it owes the one unlock that it owed before";
  EXPECT_TRUE(is_free_for(other, "a"));
  b.unlock();
  EXPECT_TRUE(lock_all({a, b}));
}

// Promise: L3
MORTISE_TEST(LockAll, HoldsNoneWhereAStoreIsOutOfReach, Hook::unreachable) {
  memory::Server server;
  Client near(server.backend());
  Client stranger(server.backend());
  Client one = client();
  Lock first = near.make_lock("a");
  const std::chrono::milliseconds lease = std::max(600ms, lease_of({.lease = 600ms}));
  std::vector<Lock> far = locks_of(one, {"b", "c", "d"}, {.lease = lease});
  Lock last = near.make_lock("e");
  SeveralLocks all = all_of(far);
  all.insert(all.begin(), first);
  all.emplace_back(last);
  ASSERT_TRUE(lock_all(all));
  store().set_reachable(false);
  for (const std::chrono::milliseconds wait : {0ms, 300ms}) {
    std::error_code ec;
    std::string name;
    const std::chrono::nanoseconds limit = (wait > 0ms ? wait : lease / 6) + allowance;
    const auto took = best_of(5, limit, [&] {
      return own_duration_of([&] {
        const Several none = lock_all(all, {.wait = wait}, ec);
        EXPECT_FALSE(none);
        name = none.failed_name();
      });
    });
    // In doubt where it was sent just before.
    EXPECT_TRUE(ec == Errc::unavailable || ec == Errc::in_doubt) << ec.message();
    EXPECT_EQ(name, "b");
    EXPECT_LE(took, limit);
    EXPECT_TRUE(is_free_for(stranger, "a"));
    EXPECT_TRUE(is_free_for(stranger, "e"));
  }
  // It holds up nobody else while it waits for the store, and takes all when that is back.
  Worker waiter;
  auto done = waiter.start([&] { return static_cast<bool>(lock_all(all, {.wait = patience})); });
  EXPECT_TRUE(test::eventually([&] {
    Lock lock = stranger.make_lock("a");
    for (int i = 0; i < 50; ++i) {
      if (!lock.try_lock()) return false;
      lock.unlock();
      std::this_thread::sleep_for(1ms);
    }
    return true;
  })) << "it waits for an unreachable store with what it has";
  store().set_reachable(true);
  EXPECT_TRUE(done.get());
}

// Messages that are lost on their way cost all of them the time of one.
// Promise: L4
MORTISE_TEST(LockAll, IsBoundedWhereNothingIsAnswered, Hook::lost_messages) {
  Client one = client();
  std::vector<Lock> wanted = locks_of(one, {"a", "b", "c", "d", "e", "f"}, {.lease = 6s});
  ASSERT_TRUE(lock_all(all_of(wanted)));
  std::optional<Several> held = lock_all(all_of(wanted));
  ASSERT_TRUE(*held);
  store().misbehave({.lose_request = 1});
  EXPECT_LE(own_duration_of([&] { held.reset(); }), 1s + allowance);
  const auto took = best_of(5, 200ms + allowance, [&] {
    return own_duration_of([&] {
      std::error_code ec;
      EXPECT_FALSE(lock_all(all_of(wanted), {.wait = 200ms}, ec));
      EXPECT_TRUE(ec == Errc::in_doubt || ec == Errc::unavailable) << ec.message();
    });
  });
  EXPECT_LE(took, 200ms + allowance);
  store().misbehave({});
  EXPECT_TRUE(lock_all(all_of(wanted), {.wait = patience})) << "something was left behind";
}

MORTISE_TEST(LockAll, GoesInOneFlight, Hook::delays) {
  Client one = client();
  std::vector<std::string> names;
  for (char name = 'a'; name < 'i'; ++name) names.emplace_back(1, name);
  std::vector<Lock> wanted = locks_of(one, names);
  ASSERT_TRUE(lock_all(all_of(wanted)));  // connected, and what comes with a first time
  const std::chrono::milliseconds each_way = 40ms;
  store().misbehave({.delay_min = each_way, .delay_max = each_way});
  std::chrono::nanoseconds locking{};
  std::chrono::nanoseconds unlocking{};
  std::chrono::nanoseconds single{};
  Lock alone = one.make_lock("alone");
  alone.lock();
  alone.unlock();
  for (int i = 0; i < 3; ++i) {
    single = duration_of([&] { alone.lock(); });
    alone.unlock();
    std::optional<Several> all;
    locking = own_duration_of([&] { all = lock_all(all_of(wanted)); });
    ASSERT_TRUE(*all);
    unlocking = own_duration_of([&] { all.reset(); });
    if (locking < single * 5 / 2 && unlocking < single * 5 / 2) break;
  }
  // A statement that begins a wave goes alone on PostgreSQL, and the others go by the next one.
  EXPECT_LT(locking, single * 5 / 2) << "one by one it is eight times that";
  EXPECT_LT(unlocking, single * 5 / 2);
  store().misbehave({});
}

// A try has the time of one request, and an answer on a slow link takes a part of it.
MORTISE_TEST(LockAll, ATryAwaitsWhatItGivesBack, Hook::delays) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  Lock b = other.make_lock("b");
  const std::unique_lock held(b);
  std::vector<Lock> wanted = locks_of(one, {"a", "b"});
  EXPECT_FALSE(lock_all(all_of(wanted), {.wait = 0s}));  // connected
  const std::chrono::milliseconds each_way = 60ms;
  store().misbehave({.delay_min = each_way, .delay_max = each_way});
  bool learned = false;
  for (int i = 0; i < 5 && !learned; ++i) {
    const std::size_t before = record->count(Record::Kind::released);
    EXPECT_FALSE(lock_all(all_of(wanted), {.wait = 0s}));
    const std::vector<Record::Entry> released = record->all(Record::Kind::released);
    learned = released.size() > before && released.back().outcome == Released::released;
  }
  EXPECT_TRUE(learned) << "the observer was told that the outcome is unknown";
  store().misbehave({});
}

// Promise: N2
MORTISE_TEST(LockAll, OpposedCallersNeitherDeadlockNorGoOnForEver) {
  constexpr int threads = 6;
  constexpr int rounds = 100;
  std::array<Client, 2> clients{client(), client()};
  std::array<std::atomic<int>, 3> inside{};
  std::atomic<int> taken{0};
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<void>> done;
  for (int t = 0; t < threads; ++t) {
    Worker& worker = *workers.emplace_back(std::make_unique<Worker>());
    done.push_back(worker.start([&, t] {
      Client& mine = clients[static_cast<std::size_t>(t) % clients.size()];
      std::vector<Lock> locks = locks_of(mine, {"a", "b", "c"});
      std::minstd_rand random(static_cast<unsigned>(t) + 1);
      std::vector<std::size_t> order{0, 1, 2};
      for (int round = 0; round < rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        const std::size_t many = 2 + random() % 2;
        SeveralLocks some;
        for (std::size_t i = 0; i < many; ++i) some.emplace_back(locks[order[i]]);
        const Several all = lock_all(some, {.wait = 60s});
        ASSERT_TRUE(all) << all.error_text();
        for (std::size_t i = 0; i < many; ++i) ASSERT_EQ(++inside[order[i]], 1);
        ++taken;
        for (std::size_t i = 0; i < many; ++i) --inside[order[i]];
      }
    }));
  }
  for (auto& end : done) ASSERT_EQ(end.wait_for(patience * 4), std::future_status::ready);
  EXPECT_EQ(taken.load(), threads * rounds);
}

}  // namespace
}  // namespace mortise::contract
