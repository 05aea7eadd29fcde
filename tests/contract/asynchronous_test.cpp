// SPDX-License-Identifier: MIT
// Goal: calls without a thread keep what blocking calls promise (S1, S7, S9, L2), whatever drives
// the client, and whatever becomes of their handlers and coroutines. Method: coroutines and
// handlers on a client with threads, and on one that the test drives.
#include "support/contract_async.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::contract {
namespace {

/// Counted by the coroutines of one client. One thread at a time runs them.
struct Takers {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> over{0};
  std::uint64_t last_token = 0;
  bool tokens_grow = true;
};

Detached take_turn(Client& client, Takers& takers) {
  Lock lock = client.make_lock("name");
  Guard guard = co_await lock.acquire_async();
  EXPECT_TRUE(guard);
  takers.most = std::max(takers.most.load(), ++takers.inside);
  takers.tokens_grow = takers.tokens_grow && guard.token().value() > takers.last_token;
  takers.last_token = guard.token().value();
  co_await client.make_lock("other name").acquire_async(0ms);  // others run meanwhile
  --takers.inside;
  co_await guard.unlock_async();
  ++takers.over;
}

// Promise: S1, S2, L2
MORTISE_TEST(Asynchronous, CoroutinesOfOneThreadExcludeEachOther, Quality::leases) {
  constexpr int many = 200;
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Takers takers;
    for (int i = 0; i < many; ++i) take_turn(one, takers);
    EXPECT_TRUE(driven_until(one, [&] { return takers.over == many; }));
    EXPECT_EQ(takers.most, 1);
    EXPECT_TRUE(takers.tokens_grow);
  }
}

// Promise: S1
MORTISE_TEST(Asynchronous, CallsExcludeThreadsAndOtherClients, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Client other = client();
    std::optional<Guard> held;
    std::atomic<bool> came{false};
    Lock lock = one.make_lock("name");
    lock.acquire_async().start([&](Guard guard) {
      held = std::move(guard);
      came = true;
    });
    EXPECT_FALSE(came) << "a handler ran inside of start()";
    ASSERT_TRUE(driven_until(one, [&] { return came.load(); }));
    ASSERT_TRUE(*held) << held->error_text();
    EXPECT_GT(held->valid_for(), 0ns);
    EXPECT_FALSE(lock.try_lock()) << "its owner is not this thread";
    EXPECT_FALSE(other.make_lock("name").try_lock());
    std::atomic<bool> freed{false};
    Released outcome = Released::unknown;
    held->unlock_async().start([&](Released released) {
      outcome = released;
      freed = true;
    });
    EXPECT_FALSE(*held);
    ASSERT_TRUE(driven_until(one, [&] { return freed.load(); }));
    EXPECT_EQ(outcome, Released::released);
    EXPECT_TRUE(other.make_lock("name").try_lock());
  }
}

MORTISE_TEST(Asynchronous, ContentionIsAValue, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client holder = client();
    Client one = client({.drive = drive});
    Lock held = holder.make_lock("name", {.label = "the holder"});
    held.lock();
    std::atomic<int> over{0};
    std::error_code timed;
    std::error_code stopped;
    std::stop_source stop;
    const auto wait = [&](AcquireOptions options, std::error_code& ec) -> Detached {
      std::error_code& result = ec;
      const Guard guard = co_await one.make_lock("name").acquire_async(options);
      result = guard.error();
      ++over;
    };
    wait({.wait = answer_time}, timed);
    wait({.stop = stop.get_token()}, stopped);
    const auto wait_by = [&](std::stop_token token) -> Detached {
      const Guard guard = co_await one.make_lock("name").acquire_async(1h).stopped_by(token);
      if (guard.error() == Errc::cancelled) ++over;
    };
    wait_by(stop.get_token());
    EXPECT_TRUE(driven_until(one, [&] { return over == 1; }));
    stop.request_stop();
    EXPECT_TRUE(driven_until(one, [&] { return over == 3; }));
    EXPECT_EQ(timed, Errc::timeout);
    EXPECT_EQ(stopped, Errc::cancelled);
    held.unlock();
    EXPECT_TRUE(taken_within(held, fallback_period)) << "a cancelled wait has left something";
    held.unlock();
  }
}

// Promise: S1, L2
MORTISE_TEST(Asynchronous, ADestroyedCoroutineLeavesNothing, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client holder = client();
    Client one = client({.drive = drive});
    Lock held = holder.make_lock("name");
    held.lock();
    bool ran = false;
    const auto wait = [&](std::string name) -> Owned {
      const Guard guard = co_await one.make_lock(name).acquire_async();
      ran = true;
    };
    {
      const Owned waits = wait("name");
      std::optional<Owned> holds;
      // Only a thread that runs the coroutine may destroy it.
      if (drive == Drive::program) holds.emplace(wait("free name"));
      for (int i = 0; i < 50; ++i) {
        one.poll(0);  // the grant comes, and no handler runs
        std::this_thread::sleep_for(1ms);
      }
    }
    held.unlock();
    Lock next = holder.make_lock("name");
    Lock other = holder.make_lock("free name");
    std::atomic<bool> taken{false};
    const std::jthread thread([&] {
      next.lock();
      other.lock();
      taken = true;
      next.unlock();
      other.unlock();
    });
    EXPECT_TRUE(driven_until(one, [&] { return taken.load(); }));
    EXPECT_FALSE(ran);
  }
}

MORTISE_TEST(Asynchronous, AnExecutorThatDropsAGrantFreesTheName, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Shelf shelf;
    Client one = client({.drive = drive});
    Client other = client();
    bool ran = false;
    const auto witness = std::make_shared<int>(0);
    one.make_lock("name").acquire_async().on(shelf).start(
        [&ran, witness](const Guard&) { ran = true; });
    ASSERT_TRUE(driven_until(one, [&] { return shelf.size() == 1; }));
    EXPECT_FALSE(other.make_lock("name").try_lock());
    EXPECT_EQ(witness.use_count(), 2);
    shelf.take().clear();
    EXPECT_TRUE(driven_until(one, [&] { return witness.use_count() == 1; }))
        << "the handler was not destroyed";
    EXPECT_FALSE(ran);
    Lock next = other.make_lock("name");
    std::atomic<bool> taken{false};
    const std::jthread thread([&] {
      next.lock();
      taken = true;
      next.unlock();
    });
    EXPECT_TRUE(driven_until(one, [&] { return taken.load(); }));
  }
}

MORTISE_TEST(Asynchronous, AnUnlockThatIsNotStartedUnlocks, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Client other = client();
    std::atomic<int> over{0};
    const auto hold = [&](std::string name, bool asks) -> Detached {
      Guard guard = co_await one.make_lock(name).acquire_async();
      if (asks) static_cast<void>(guard.unlock_async());
      ++over;
    };
    hold("name", true);
    hold("other name", false);
    ASSERT_TRUE(driven_until(one, [&] { return over == 2; }));
    for (const char* const name : {"name", "other name"}) {
      Lock next = other.make_lock(name);
      std::atomic<bool> taken{false};
      const std::jthread thread([&] {
        next.lock();
        taken = true;
        next.unlock();
      });
      EXPECT_TRUE(driven_until(one, [&] { return taken.load(); })) << name;
    }
  }
}

MORTISE_TEST(Asynchronous, ReadersAreInsideTogether, Quality::leases, Quality::shared) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    ReadWriteLock lock = one.make_read_write_lock("name");
    std::vector<Guard> readers;
    std::atomic<std::size_t> inside{0};
    for (int i = 0; i < 3; ++i) {
      lock.reader().acquire_async().start([&](Guard guard) {
        readers.push_back(std::move(guard));
        inside = readers.size();
      });
    }
    ASSERT_TRUE(driven_until(one, [&] { return inside == 3U; }));
    for (const Guard& reader : readers) EXPECT_TRUE(reader) << reader.error_text();
    std::atomic<bool> written{false};
    lock.writer().acquire_async().start(
        [&](const Guard& guard) { written = static_cast<bool>(guard); });
    EXPECT_FALSE(written);
    readers.clear();
    EXPECT_TRUE(driven_until(one, [&] { return written.load(); }));
  }
}

// Promise: S1
MORTISE_TEST(Asynchronous, PermitsAreAsManyAsTheSemaphoreHas, Quality::leases, Quality::permits) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Semaphore semaphore = one.make_semaphore("name", 2);
    std::vector<Permit> held;
    std::atomic<std::size_t> inside{0};
    std::atomic<bool> busy{false};
    std::atomic<bool> third{false};
    for (int i = 0; i < 2; ++i) {
      semaphore.acquire_async().start([&](Permit permit) {
        EXPECT_TRUE(permit) << permit.error_text();
        held.push_back(std::move(permit));
        inside = held.size();
      });
    }
    ASSERT_TRUE(driven_until(one, [&] { return inside == 2U; }));
    semaphore.acquire_async(answer_time).start([&](const Permit& permit) {
      busy = permit.error() == Errc::timeout;
    });
    EXPECT_TRUE(driven_until(one, [&] { return busy.load(); }));
    semaphore.acquire_async().start([&](Permit permit) { third = static_cast<bool>(permit); });
    std::atomic<bool> freed{false};
    held.front().unlock_async().start([&](Released found) { freed = found == Released::released; });
    EXPECT_TRUE(driven_until(one, [&] { return third && freed; }));
    held.clear();
  }
}

MORTISE_TEST(Asynchronous, AWaitForALossEndsWithTheUnlock, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    std::atomic<int> unlocked{0};
    std::atomic<int> stopped{0};
    std::atomic<bool> began{false};
    std::stop_source stop;
    const auto watch = [](const Guard& guard, std::atomic<int>& over) -> Detached {
      std::atomic<int>& count = over;
      const bool lost = co_await guard.lost_async();
      EXPECT_FALSE(lost);
      ++count;
    };
    const auto watch_until = [](const Guard& guard, std::stop_token until,
                                std::atomic<int>& over) -> Detached {
      std::atomic<int>& count = over;
      const bool lost = co_await guard.lost_async().stopped_by(until);
      EXPECT_FALSE(lost);
      ++count;
    };
    const auto work = [&]() -> Detached {
      Guard guard = co_await one.make_lock("name").acquire_async();
      watch(guard, unlocked);
      watch(guard, unlocked);
      watch_until(guard, stop.get_token(), stopped);
      began = true;
      while (stopped == 0) co_await one.make_lock("other name").acquire_async(0ms);
      EXPECT_EQ(unlocked, 0);
      co_await guard.unlock_async();
    };
    work();
    ASSERT_TRUE(driven_until(one, [&] { return began.load(); }));
    stop.request_stop();
    EXPECT_TRUE(driven_until(one, [&] { return unlocked == 2; }));
    EXPECT_EQ(stopped, 1);
  }
}

/// A kind of call that waits for a hold of another client.
struct Awaited {
  using Report = std::function<void(const std::error_code&)>;
  const char* kind;
  /// Starts such a call, whose handler reports its error.
  std::function<void(Report)> start;
};

/// @param handle a lock, a semaphore or a key @param begin calls its asynchronous member
template <class Handle, class Begin>
Awaited awaited(const char* kind, Handle& handle, Begin begin) {
  return {kind, [&handle, begin](const Awaited::Report& report) {
            begin(handle).start([report](const auto& result) { report(result.error()); });
          }};
}

// Promise: S9
MORTISE_TEST(Asynchronous, CloseEndsEveryCall, Quality::leases) {
  constexpr int calls = 3;
  const auto acquire = [](auto& handle) { return handle.acquire_async(); };
  const auto begin = [](Once& key) { return key.begin_async(); };
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client holder = client();
    Client one = client({.drive = drive});
    Lock held = holder.make_lock("name");
    held.lock();
    Lock wanted = one.make_lock("name");
    std::vector<Awaited> kinds{awaited("a lock", wanted, acquire)};
    std::optional<Permit> permit;
    std::optional<Semaphore> semaphore;
    if (has(Quality::permits)) {
      permit = holder.make_semaphore("places", 1).acquire();
      semaphore.emplace(one.make_semaphore("places", 1));
      kinds.push_back(awaited("a permit", *semaphore, acquire));
    }
    std::optional<Run> run;
    std::optional<Once> key;
    if (has(Quality::once)) {
      const std::string name = std::string("key ") + text_of_drive(drive);
      run = holder.make_once(name).begin();
      key.emplace(one.make_once(name));
      kinds.push_back(awaited("a key", *key, begin));
    }
    std::vector<std::atomic<int>> closed(kinds.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      for (int call = 0; call < calls; ++call) {
        kinds[i].start([&its = closed[i]](const std::error_code& error) {
          if (error == Errc::closed) ++its;
        });
      }
    }
    one.poll();
    one.close();
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      SCOPED_TRACE(kinds[i].kind);
      EXPECT_TRUE(driven_until(one, [&] { return closed[i] == calls; }));
      EXPECT_THROW(kinds[i].start([](const std::error_code&) {}), Error);
    }
    held.unlock();
    EXPECT_TRUE(taken_within(held, fallback_period));
    held.unlock();
  }
}

MORTISE_TEST(Asynchronous, CloseWithoutAThreadFreesWhatIsHeld, Quality::leases) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Client other = client();
    std::atomic<bool> checked{false};
    std::optional<Guard> held;
    std::atomic<bool> over{false};
    const auto work = [&]() -> Detached {
      co_await one.check_async();
      checked = true;
      held = co_await one.make_lock("name").acquire_async();
      co_await one.close_async();
      over = true;
    };
    work();
    EXPECT_TRUE(driven_until(one, [&] { return over.load(); }));
    EXPECT_TRUE(checked);
    EXPECT_TRUE(held->lost().stop_requested());
    Lock next = other.make_lock("name");
    EXPECT_TRUE(taken_within(next, fallback_period * 2));
    next.unlock();
  }
}

// Promise: S6
MORTISE_TEST(Asynchronous, ALossIsReportedWhateverDrivesTheClient, Quality::leases, Quality::loss) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    std::optional<Guard> held;
    std::atomic<bool> came{false};
    one.make_lock("name", losable()).acquire_async().start([&](Guard guard) {
      held = std::move(guard);
      came = true;
    });
    ASSERT_TRUE(driven_until(one, [&] { return came.load(); }));
    ASSERT_TRUE(*held) << held->error_text();
    std::atomic<bool> told{false};
    held->lost_async().start([&](bool lost) { told = lost; });
    // A callback that blocks does not delay the call. With a loop it would block its own thread.
    std::optional<std::stop_callback<std::function<void()>>> blocks;
    std::atomic<bool> delayed{false};
    if (drive == Drive::threads) {
      blocks.emplace(held->lost(), [&] { delayed = !eventually([&] { return told.load(); }); });
    }
    EXPECT_TRUE(driven_until(one, [&] { return held->lost().stop_requested(); }));
    EXPECT_EQ(held->valid_for(), 0ns);
    EXPECT_TRUE(driven_until(one, [&] { return told.load(); }));
    std::atomic<bool> told_again{false};
    held->lost_async().start([&](bool lost) { told_again = lost; });
    EXPECT_TRUE(driven_until(one, [&] { return told_again.load(); }));
    blocks.reset();
    EXPECT_FALSE(delayed);
  }
}

// Promise: O1
MORTISE_TEST(Asynchronous, OfManyCoroutinesOneRunsAndAllGetTheResult, Quality::leases,
             Quality::once) {
  constexpr int many = 40;
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    std::atomic<int> runs{0};
    std::atomic<int> told{0};
    const auto pay = [&](std::string key) -> Detached {
      Once payment = one.make_once(key);
      Run run = co_await payment.begin_async();
      if (!run) {
        if (run.outcome().result() == "paid" && run.outcome().replayed()) ++told;
        co_return;
      }
      EXPECT_EQ(run.number(), 1U);
      EXPECT_GT(run.valid_for(), 0ns);
      ++runs;
      co_await one.make_lock("other name").acquire_async(0ms);  // others come meanwhile
      const Outcome outcome = co_await run.succeed_async("paid");
      EXPECT_FALSE(run);
      if (outcome.result() == "paid" && !outcome.replayed()) ++told;
    };
    const std::string key = std::string("key ") + text_of_drive(drive);
    for (int i = 0; i < many; ++i) pay(key);
    EXPECT_TRUE(driven_until(one, [&] { return told == many; })) << told;
    EXPECT_EQ(runs, 1);
  }
}

MORTISE_TEST(Asynchronous, AKeyThatIsRunElsewhereIsAValue, Quality::leases, Quality::once) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    const std::string key = std::string("key ") + text_of_drive(drive);
    Client runner = client();
    Client one = client({.drive = drive});
    Run running = runner.make_once(key, {.fingerprint = "right"}).begin();
    std::atomic<int> over{0};
    std::stop_source stop;
    const auto begin = [&](OnceOptions options, std::error_code expected) -> Detached {
      const std::error_code wanted = expected;
      std::atomic<int>& count = over;
      Once once = one.make_once(key, options);
      const Run run = co_await once.begin_async();
      EXPECT_FALSE(run);
      EXPECT_EQ(run.error(), wanted);
      EXPECT_EQ(run.outcome().state(), KeyState::pending);
      ++count;
    };
    OnceOptions options{.fingerprint = "right", .wait = 0ms};
    begin(options, make_error_code(Errc::timeout));
    options.wait = answer_time;
    begin(options, make_error_code(Errc::timeout));
    options.wait = forever;
    options.stop = stop.get_token();
    begin(options, make_error_code(Errc::cancelled));
    EXPECT_TRUE(driven_until(one, [&] { return over == 2; }));
    // Another fingerprint does not wait, although a call of this client waits for the key.
    std::atomic<bool> differs{false};
    one.make_once(key, {.fingerprint = "wrong"}).begin_async().start([&](const Run& run) {
      differs = run.error() == Errc::mismatch;
    });
    EXPECT_TRUE(driven_until(one, [&] { return differs.load(); }));
    stop.request_stop();
    EXPECT_TRUE(driven_until(one, [&] { return over == 3; }));
    running.give_back();
    std::error_code ec;
    const Run next = runner.make_once(key, {.fingerprint = "right", .wait = patience}).begin(ec);
    EXPECT_TRUE(next) << "a cancelled call has left something";
  }
}

// Promise: O1
MORTISE_TEST(Asynchronous, ARunThatNoHandlerGetsIsGivenBack, Quality::leases, Quality::once) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Shelf shelf;
    Client one = client({.drive = drive});
    Client other = client();
    const auto next_runs = [&](const std::string& key) {
      std::atomic<bool> ran{false};
      const std::jthread thread(
          [&] { ran = static_cast<bool>(other.make_once(key, {.wait = patience}).begin()); });
      return driven_until(one, [&] { return ran.load(); });
    };
    const std::string suffix = text_of_drive(drive);
    one.make_once("dropped " + suffix).begin_async().on(shelf).start([](const Run&) {});
    ASSERT_TRUE(driven_until(one, [&] { return shelf.size() == 1; }));
    shelf.take().clear();
    EXPECT_TRUE(next_runs("dropped " + suffix));

    one.make_once("ignored " + suffix).begin_async().start();
    EXPECT_TRUE(next_runs("ignored " + suffix));

    std::optional<Run> running = other.make_once("destroyed " + suffix).begin();
    const auto wait = [&]() -> Owned {
      Once once = one.make_once("destroyed " + suffix);
      const Run run = co_await once.begin_async();
      ADD_FAILURE() << "the coroutine continued";
    };
    {
      const Owned waits = wait();
      one.poll();
    }
    running.reset();
    EXPECT_TRUE(next_runs("destroyed " + suffix));
  }
}

// Promise: O2
MORTISE_TEST(Asynchronous, AnOutcomeIsRecordedWhateverBecomesOfItsCall, Quality::leases,
             Quality::once) {
  for (const Drive drive : each_drive) {
    SCOPED_TRACE(text_of_drive(drive));
    Client one = client({.drive = drive});
    Client other = client();
    const std::string suffix = text_of_drive(drive);
    std::atomic<bool> over{false};
    std::vector<Owned> destroyed;
    const auto conclude = [&](Run run) -> Owned { co_await run.succeed_async("destroyed"); };
    const auto work = [&]() -> Detached {
      Once unstarted = one.make_once("unstarted " + suffix);
      Run first = co_await unstarted.begin_async();
      static_cast<void>(first.succeed_async("unstarted"));
      Once left = one.make_once("destroyed " + suffix);
      Run second = co_await left.begin_async();
      destroyed.push_back(conclude(std::move(second)));
      destroyed.clear();
      Once fails = one.make_once("failed " + suffix);
      Run third = co_await fails.begin_async();
      const Outcome outcome = co_await third.fail_async("no");
      EXPECT_EQ(outcome.reason(), "no");
      EXPECT_FALSE(outcome.error());
      over = true;
    };
    work();
    ASSERT_TRUE(driven_until(one, [&] { return over.load(); }));
    for (const std::string kind : {"unstarted", "destroyed"}) {
      EXPECT_TRUE(driven_until(one, [&] {
        return other.make_once(kind + " " + suffix).look().result() == kind;
      })) << kind;
    }
    EXPECT_EQ(other.make_once("failed " + suffix).look().reason(), "no");
  }
}

// Promise: O2
MORTISE_TEST(Asynchronous, AnOutcomeWhoseCallHasBegunIsRecordedBeforeItsClientCloses,
             Quality::leases, Quality::once) {
  for (const Drive drive : each_drive) {
    for (const bool waits : {true, false}) {
      const std::string key = text_of_drive(drive) + std::string(waits ? " waits" : " steps");
      SCOPED_TRACE(key);
      Client one = client({.drive = drive});
      Client other = client();
      std::optional<Run> run;
      std::atomic<bool> open{false};
      one.make_once(key).begin_async().start([&](Run begun) {
        run = std::move(begun);
        open = true;
      });
      ASSERT_TRUE(driven_until(one, [&] { return open.load(); }));
      run->succeed_async("kept").start([](const Outcome&) {});
      if (waits) {
        one.close();
      } else {
        std::atomic<bool> closed{false};
        one.close_async().start([&](Closed) { closed = true; });
        ASSERT_TRUE(driven_until(one, [&] { return closed.load(); }));
      }
      EXPECT_EQ(other.make_once(key).look().result(), "kept");
    }
  }
}

MORTISE_TEST(Asynchronous, AnOutcomeThatCannotBeRecordedLeavesTheRunOpen, Quality::leases,
             Quality::once) {
  Client one = client();
  Run run = one.make_once("key").begin();
  EXPECT_THROW(static_cast<void>(run.succeed_async(std::string(65'537, 'x'))), Error);
  EXPECT_TRUE(run);
  EXPECT_EQ(run.error(), Errc::misconfigured);
  run.give_back();
  EXPECT_THROW(static_cast<void>(run.succeed_async("late")), Error);
  EXPECT_EQ(run.error(), Errc::not_owner);
}

}  // namespace
}  // namespace mortise::contract
