// SPDX-License-Identifier: MIT
// Goal: lock_all_async() keeps the promises of lock_all() (N1, N2, S1, S7, S9), with each drive of
// the client, and for each fate of its handler and its coroutine. Method: hold some of the names,
// end the call in each way, and check through another client that the call leaves nothing.
#include <mortise/memory.hpp>

#include "support/contract_async.hpp"
#include "support/contract_observer.hpp"
#include "support/contract_several.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::contract {
namespace {

/// @return true if another client gets each of the names in the end.
bool become_free(Client& driven, Client& other, const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return driven_until(driven, [&] { return is_free_for(other, name); });
  });
}

/// @return true if a call for three names has found the first name busy, and asks for it alone.
bool waits_for_the_first(Party& asks) {
  return driven_until(asks.client, [&] { return asks.probe->counts().acquires >= 4; });
}

/// The result of a call.
struct Arrival {
  std::optional<Several> guards;
  std::atomic<bool> came{false};

  [[nodiscard]] auto handler() {
    return [this](Several result) {
      guards = std::move(result);
      came = true;
    };
  }
};

// Promise: S1, S2
MORTISE_TEST(Asynchronous, LockAllTakesAllAndFreesAll, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Client other = client();
    Lock a = one.make_lock("a");
    Lock b = one.make_lock("b");
    Arrival arrival;
    lock_all_async({b, a, b}, patience).start(arrival.handler());
    EXPECT_FALSE(arrival.came) << "a handler ran inside of start()";
    ASSERT_TRUE(driven_until(one, [&] { return arrival.came.load(); }));
    const Several& all = *arrival.guards;
    ASSERT_TRUE(all) << all.error_text();
    EXPECT_EQ(all.size(), 3U);
    EXPECT_GT(all.valid_for(), 0ns);
    EXPECT_TRUE(all.token("a"));
    EXPECT_EQ(all.holds().size(), 2U);
    EXPECT_EQ(a.hold_count(), 0U) << "its owner is this thread";
    EXPECT_EQ(a.hold_count(all.owner()), 1U);
    EXPECT_EQ(b.hold_count(all.owner()), 2U);
    EXPECT_FALSE(a.try_lock());
    EXPECT_FALSE(is_free_for(other, "b"));
    const Owner owner = all.owner();
    arrival.guards.reset();
    EXPECT_EQ(b.hold_count(owner), 0U);
    EXPECT_TRUE(become_free(one, other, {"a", "b"}));
  }
}

MORTISE_TEST(Asynchronous, LockAllTakesNames, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    std::atomic<int> over{0};
    const auto take = [&]() -> Detached {
      Several none = co_await lock_all_async(one, std::vector<std::string>());
      EXPECT_TRUE(none);
      EXPECT_EQ(none.size(), 0U);
      const std::vector<std::string> names{"a", "b"};
      Several both = co_await lock_all_async(one, names, patience);
      EXPECT_TRUE(both) << both.error_text();
      EXPECT_EQ(both.size(), 2U);
      ++over;
    };
    take();
    EXPECT_TRUE(driven_until(one, [&] { return over == 1; }));
    EXPECT_THROW(static_cast<void>(lock_all_async(SeveralLocks())), Error);
    EXPECT_THROW(static_cast<void>(lock_all_async(one, {"a"}, {.owner = Owner::this_thread()})),
                 Error);
  }
}

// Promise: N1
MORTISE_TEST(Asynchronous, LockAllReturnsContentionAsAValue, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Client other = client();
    Lock held = other.make_lock("b", {.label = "the holder"});
    ASSERT_TRUE(held.try_lock_for(patience));
    std::vector<Lock> wanted = locks_of(one, {"a", "b", "c"});
    std::atomic<int> over{0};
    const auto take = [&](std::chrono::milliseconds wait) -> Detached {
      Several none = co_await lock_all_async(all_of(wanted), wait);
      EXPECT_FALSE(none);
      EXPECT_EQ(none.error(), Errc::timeout);
      EXPECT_EQ(none.failed_name(), "b");
      EXPECT_EQ(none.error_text().find("b"), 0U) << none.error_text();
      EXPECT_EQ(none.size(), 0U);
      if (none.holder()) {
        EXPECT_EQ(none.holder()->label, "the holder");
      }
      ++over;
    };
    take(0ms);
    EXPECT_TRUE(driven_until(one, [&] { return over == 1; }));
    EXPECT_TRUE(become_free(one, other, {"a", "c"}));
    take(answer_time);
    EXPECT_TRUE(driven_until(one, [&] { return over == 2; }));
    EXPECT_TRUE(become_free(one, other, {"a", "c"}));
    held.unlock();
    EXPECT_TRUE(taken_within(held, fallback_period)) << "a call has left its place in a queue";
    held.unlock();
  }
}

// Promise: N1
MORTISE_TEST(Asynchronous, LockAllIsCancelledInTheMiddle, Quality::leases) {
  for (const Drive drive : each_drive) {
    for (const bool by_options : {false, true}) {
      SCOPED_TRACE(text_of_drive(drive) + std::string(by_options ? ", by its options" : ""));
      Party asks = party({.drive = drive});
      Client& one = asks.client;
      Client other = client();
      Lock a = other.make_lock("a");
      Lock held = other.make_lock("b");
      a.lock();
      held.lock();
      std::vector<Lock> wanted = locks_of(one, {"a", "b", "c"});
      std::stop_source stop;
      Arrival arrival;
      if (by_options) {
        lock_all_async(all_of(wanted), {.stop = stop.get_token()}).start(arrival.handler());
      } else {
        lock_all_async(all_of(wanted)).stopped_by(stop.get_token()).start(arrival.handler());
      }
      EXPECT_TRUE(waits_for_the_first(asks));
      a.unlock();
      // The call takes "a", and keeps it while it waits for "b".
      EXPECT_TRUE(driven_until(one, [&] { return !is_free_for(other, "a"); }));
      EXPECT_FALSE(arrival.came);
      stop.request_stop();
      ASSERT_TRUE(driven_until(one, [&] { return arrival.came.load(); }));
      EXPECT_FALSE(*arrival.guards);
      EXPECT_EQ(arrival.guards->error(), Errc::cancelled);
      EXPECT_TRUE(become_free(one, other, {"a", "c"})) << "a cancelled call has left a hold";
      held.unlock();
      EXPECT_TRUE(taken_within(held, fallback_period)) << "a cancelled call has left something";
      held.unlock();
    }
  }
}

// Promise: S1, N1
MORTISE_TEST(Asynchronous, LockAllOfADestroyedCoroutineLeavesNothing, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Client other = client();
    Lock held = other.make_lock("b");
    held.lock();
    bool ran = false;
    const auto take = [&](std::vector<Lock> wanted) -> Owned {
      Several all = co_await lock_all_async(all_of(wanted));
      ran = true;
    };
    {
      const Owned waits = take(locks_of(one, {"a", "b", "c"}));
      std::optional<Owned> holds;
      // Only a thread that runs the coroutine may destroy it.
      if (drive == Drive::program) holds.emplace(take(locks_of(one, {"d", "e"})));
      const auto handler_runs = [&] {
        one.poll(0);  // the grants come
        return ran;
      };
      EXPECT_FALSE(test::happens_within(handler_runs, 50ms));
    }
    held.unlock();
    EXPECT_TRUE(become_free(one, other, {"a", "b", "c", "d", "e"}));
    EXPECT_FALSE(ran);
  }
}

MORTISE_TEST(Asynchronous, LockAllFreesTheNamesIfNoHandlerGetsThem, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Client other = client();
    Shelf shelf;
    bool ran = false;
    std::vector<Lock> wanted = locks_of(one, {"a", "b"});
    lock_all_async(all_of(wanted)).on(shelf).start([&](const Several&) { ran = true; });
    ASSERT_TRUE(driven_until(one, [&] { return shelf.size() == 1; }));
    EXPECT_FALSE(is_free_for(other, "a"));
    shelf.take().clear();
    EXPECT_TRUE(become_free(one, other, {"a", "b"}));
    EXPECT_FALSE(ran);
  }
}

// Promise: S7
MORTISE_TEST(Asynchronous, LockAllReentersTheHoldsOfItsOwner, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Client other = client();
    std::vector<Lock> wanted = locks_of(one, {"a", "b"});
    Lock rival = other.make_lock("a");
    std::atomic<int> over{0};
    std::optional<Guard> outer;
    const auto enter = [&]() -> Detached {
      outer = co_await wanted[1].acquire_async();
      const AcquireOptions options{.wait = patience, .owner = outer->owner()};
      {
        Several all = co_await lock_all_async(all_of(wanted), options);
        EXPECT_TRUE(all) << all.error_text();
        EXPECT_EQ(wanted[1].hold_count(outer->owner()), 2U);
      }
      EXPECT_EQ(wanted[1].hold_count(outer->owner()), 1U);
      ++over;
    };
    enter();
    ASSERT_TRUE(driven_until(one, [&] { return over == 1; }));
    ASSERT_TRUE(driven_until(one, [&] { return rival.try_lock(); }));
    Arrival arrival;
    lock_all_async(all_of(wanted), {.wait = 0ms, .owner = outer->owner()}).start(arrival.handler());
    ASSERT_TRUE(driven_until(one, [&] { return arrival.came.load(); }));
    EXPECT_EQ(arrival.guards->error(), Errc::timeout);
    EXPECT_EQ(wanted[1].hold_count(outer->owner()), 1U) << "it left what it had before";
    rival.unlock();
  }
}

// Promise: S1, N2
MORTISE_TEST(Asynchronous, LockAllByOpposedCoroutinesEnds, Quality::leases) {
  constexpr int coroutines = 12;
  constexpr int rounds = 5;
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Client rival = client();
    std::array<std::atomic<int>, 3> inside{};
    std::atomic<int> over{0};
    std::atomic<int> overlaps{0};
    const auto names = std::array<std::string, 3>{"a", "b", "c"};
    const auto work = [&](unsigned seed) -> Detached {
      std::minstd_rand random(seed);
      std::array<std::size_t, 3> order{0, 1, 2};
      for (int round = 0; round < rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        const std::vector<std::string> some{names[order[0]], names[order[1]]};
        Several both = co_await lock_all_async(one, some, 60s);
        EXPECT_TRUE(both) << both.error_text();
        for (const std::size_t i : {order[0], order[1]}) overlaps += ++inside[i] == 1 ? 0 : 1;
        co_await one.make_lock("other name").acquire_async(0ms);  // others run in the meantime
        for (const std::size_t i : {order[0], order[1]}) --inside[i];
      }
      ++over;
    };
    for (int i = 0; i < coroutines; ++i) work(static_cast<unsigned>(i) + 1);
    std::atomic<bool> ends{false};
    std::atomic<bool> ended{false};
    const std::jthread opponent([&] {
      std::vector<Lock> locks = locks_of(rival, {"c", "a"});
      while (!ends) {
        const Several both = lock_all(all_of(locks), {.wait = 60s});
        EXPECT_TRUE(both) << both.error_text();
        for (const std::size_t i : {0U, 2U}) overlaps += ++inside[i] == 1 ? 0 : 1;
        for (const std::size_t i : {0U, 2U}) --inside[i];
      }
      ended = true;
    });
    EXPECT_TRUE(driven_until(
        one, [&] { return over == coroutines; }, patience * 4))
        << over;
    ends = true;
    EXPECT_TRUE(driven_until(one, [&] { return ended.load(); }));
    EXPECT_EQ(overlaps, 0);
  }
}

MORTISE_TEST(Asynchronous, LockAllOfSeveralClientsAndStores, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Client two = client();
    Client other = client();
    memory::Server server;
    Client elsewhere(server.backend());
    Client stranger(server.backend());
    Lock a = one.make_lock("a");
    Lock b = two.make_lock("b");
    Lock c = elsewhere.make_lock("c");
    {
      Arrival arrival;
      lock_all_async({a, b, c}, patience).start(arrival.handler());
      ASSERT_TRUE(driven_until(one, [&] { return arrival.came.load(); }));
      ASSERT_TRUE(*arrival.guards) << arrival.guards->error_text();
      EXPECT_FALSE(is_free_for(other, "a") || is_free_for(other, "b"));
      EXPECT_FALSE(is_free_for(stranger, "c"));
    }
    EXPECT_TRUE(become_free(one, other, {"a", "b"}));
    Lock rival = stranger.make_lock("c");
    ASSERT_TRUE(driven_until(one, [&] { return rival.try_lock(); }));
    Arrival waits;
    lock_all_async({a, b, c}).start(waits.handler());
    EXPECT_FALSE(driven_until(
        one, [&] { return waits.came.load(); }, 50ms));
    rival.unlock();
    ASSERT_TRUE(driven_until(one, [&] { return waits.came.load(); }));
    EXPECT_TRUE(*waits.guards) << waits.guards->error_text();
  }
}

// Promise: S9
MORTISE_TEST(Asynchronous, CloseEndsLockAll, Quality::leases) {
  for (const Drive drive : each_drive) {
    for (const bool elsewhere : {false, true}) {
      SCOPED_TRACE(text_of_drive(drive) + std::string(elsewhere ? ", waits elsewhere" : ""));
      Client one = client({.drive = drive});
      Client two = client();
      Client other = client();
      Lock held = other.make_lock("b");
      held.lock();
      Lock a = one.make_lock("a");
      Lock b = (elsewhere ? two : one).make_lock("b");
      Arrival arrival;
      lock_all_async({a, b}).start(arrival.handler());
      EXPECT_FALSE(driven_until(
          one, [&] { return arrival.came.load(); }, 20ms));
      const auto took = own_duration_of([&] { one.close(); });
      EXPECT_LT(took, 500ms) << "close() has waited for the holder of another client's lock";
      ASSERT_TRUE(driven_until(one, [&] { return arrival.came.load(); }));
      EXPECT_EQ(arrival.guards->error(), Errc::closed) << arrival.guards->error_text();
      EXPECT_THROW(lock_all_async({a, b}).start(), Error);
      held.unlock();
      EXPECT_TRUE(taken_within(held, fallback_period)) << "the call has left something";
      EXPECT_TRUE(become_free(two, other, {"a"}));
      held.unlock();
    }
  }
}

/// Notes the thread of each event.
class Places final : public Observer {
 public:
  void waits(const Event&) noexcept override { note(waits_); }
  void wait_ended(const Event&, const Failure&) noexcept override { note(ends_); }
  void granted(const Event&) noexcept override { note(ends_); }
  void contended(const Event&) noexcept override { note(ends_); }
  void released(const Event&, Released) noexcept override { note(ends_); }

  [[nodiscard]] std::vector<std::thread::id> of_waits() const { return copy(waits_); }
  [[nodiscard]] std::vector<std::thread::id> of_ends() const { return copy(ends_); }

 private:
  void note(std::vector<std::thread::id>& places) {
    const std::lock_guard lock(mutex_);
    places.push_back(std::this_thread::get_id());
  }
  [[nodiscard]] std::vector<std::thread::id> copy(
      const std::vector<std::thread::id>& places) const {
    const std::lock_guard lock(mutex_);
    return places;
  }

  mutable std::mutex mutex_;
  std::vector<std::thread::id> waits_;
  std::vector<std::thread::id> ends_;
};

MORTISE_TEST(Asynchronous, LockAllReportsToAnObserverOnThreadsOfTheProgram, Quality::leases) {
  for (const Drive drive : each_drive) {
    for (const bool is_taken : {false, true}) {
      SCOPED_TRACE(text_of_drive(drive) + std::string(is_taken ? ", taken" : ", stopped"));
      const auto places = std::make_shared<Places>();
      const auto record = std::make_shared<Record>();
      Party asks = party({.observer = observers({places, record}), .drive = drive});
      Client& one = asks.client;
      Client other = client();
      Lock first = other.make_lock("a");
      Lock second = other.make_lock("b");
      first.lock();
      second.lock();
      std::vector<Lock> wanted = locks_of(one, {"a", "b", "c"});
      Shelf shelf;
      Arrival arrival;
      std::stop_source stop;
      lock_all_async(all_of(wanted))
          .stopped_by(stop.get_token())
          .on(shelf)
          .start(arrival.handler());
      EXPECT_EQ(record->count(Record::Kind::waits), 3U);
      EXPECT_TRUE(waits_for_the_first(asks));
      first.unlock();  // the call takes "a" and asks for the others again
      EXPECT_TRUE(driven_until(one, [&] { return !is_free_for(other, "a"); }));
      if (is_taken) {
        second.unlock();
      } else {
        stop.request_stop();
      }
      ASSERT_TRUE(driven_until(one, [&] { return shelf.size() == 1; }));
      EXPECT_EQ(places->of_ends().size(), 0U) << "the observer ran on a thread of the library";
      for (Completion& completion : shelf.take()) completion();
      ASSERT_TRUE(arrival.came);
      EXPECT_EQ(static_cast<bool>(*arrival.guards), is_taken) << arrival.guards->error_text();
      arrival.guards.reset();
      EXPECT_EQ(record->count(Record::Kind::waits), 3U);
      EXPECT_EQ(record->count(Record::Kind::wait_ended), 3U);
      const std::size_t holds = is_taken ? 3 : 0;
      EXPECT_EQ(record->count(Record::Kind::granted), holds);
      EXPECT_EQ(record->count(Record::Kind::released), holds);
      EXPECT_EQ(record->count(Record::Kind::contended), 0U);
      for (const Record::Entry& end : record->all(Record::Kind::wait_ended)) {
        EXPECT_EQ(static_cast<bool>(end.token), is_taken);
        EXPECT_EQ(end.why.code, is_taken ? std::error_code() : Errc::cancelled);
      }
      for (const std::thread::id place : places->of_waits()) {
        EXPECT_EQ(place, std::this_thread::get_id());
      }
      for (const std::thread::id place : places->of_ends()) {
        EXPECT_EQ(place, std::this_thread::get_id());
      }
      if (!is_taken) second.unlock();
    }
  }
}

MORTISE_TEST(Asynchronous, LockAllReportsContentionOnce, Quality::leases) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  Lock held = other.make_lock("b");
  held.lock();
  std::vector<Lock> wanted = locks_of(one, {"a", "b"});
  for (const std::chrono::milliseconds wait : {0ms, std::chrono::milliseconds(answer_time)}) {
    const std::size_t before = record->count(Record::Kind::contended);
    Arrival arrival;
    lock_all_async(all_of(wanted), wait).start(arrival.handler());
    ASSERT_TRUE(driven_until(one, [&] { return arrival.came.load(); }));
    EXPECT_EQ(record->count(Record::Kind::contended), before + 1);
    EXPECT_EQ(record->all(Record::Kind::contended).back().name, "b");
    EXPECT_EQ(record->count(Record::Kind::wait_ended), record->count(Record::Kind::waits));
  }
  EXPECT_EQ(record->count(Record::Kind::granted), 0U);
  EXPECT_EQ(record->count(Record::Kind::released), 0U);
  held.unlock();
}

}  // namespace
}  // namespace mortise::contract
