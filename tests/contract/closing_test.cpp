// SPDX-License-Identifier: MIT
// Goal: after close() everybody is out, quietly and for good (S9), what was held is free, and
// nothing is left (L4, L7). Method: clients that are closed while their locks are held, wanted,
// lost and used.
#include "model/seed.hpp"
#include "support/contract_suites.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace mortise::contract {
namespace {

// Promise: S9
MORTISE_TEST(Closing, RefusesEverythingAfterwards) {
  Client one = client();
  Lock held = one.make_lock("held");
  Lock free = one.make_lock("free");
  held.lock();
  Lock guarded = one.make_lock("guarded");
  Guard guard(guarded);
  one.close();
  for (Lock* const lock : {&held, &free}) {
    std::error_code ec;
    lock->lock(ec);
    EXPECT_EQ(ec, Errc::closed);
    EXPECT_FALSE(lock->try_lock(ec));
    EXPECT_EQ(ec, Errc::closed);
    EXPECT_FALSE(lock->try_lock_for(10s, ec));
    EXPECT_EQ(ec, Errc::closed);
    EXPECT_THROW(lock->lock(), Error);
    EXPECT_THROW(const Guard held(*lock), Error);
    EXPECT_FALSE(lock->holder(ec).has_value());
    EXPECT_EQ(ec, Errc::closed);
    EXPECT_EQ(lock->valid_for(), 0ns);
  }
  EXPECT_THROW(static_cast<void>(one.make_lock("new")), Error);
  std::error_code ec;
  one.check(1s, ec);
  EXPECT_EQ(ec, Errc::closed);
  held.unlock(ec);
  EXPECT_FALSE(ec) << "unlock is silent";
  EXPECT_EQ(held.release(), Released::unknown);
  EXPECT_NO_THROW(free.unlock());
  EXPECT_EQ(guard.unlock(), Released::unknown);
}

// Promise: S9
MORTISE_TEST(Closing, FreesWhatIsHeld) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  held.lock();
  held.lock();
  const std::stop_token lost = held.lost();
  {
    std::thread ended([&] {
      Lock left_behind = one.make_lock("other name");
      left_behind.lock();
    });
    ended.join();
  }
  EXPECT_FALSE(other.make_lock("other name").try_lock());
  one.close();
  EXPECT_TRUE(lost.stop_requested()) << "a hold that ends without its owner is a loss";
  for (const char* const name : {"name", "other name"}) {
    Lock next = other.make_lock(name);
    EXPECT_TRUE(taken_within(next, fallback_period * 2)) << name;
    next.unlock();
  }
}

MORTISE_TEST(Closing, EndsWaiters) {
  Client holder = client();
  Client one = client();
  Lock held = holder.make_lock("name");
  held.lock();
  Lock wanted = one.make_lock("name");
  Lock inside = one.make_lock("held inside");
  inside.lock();
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<std::error_code>> outcomes;
  // The first asks the server, the second waits behind it, the third behind a hold of the process.
  for (Lock* const lock : {&wanted, &wanted, &inside}) {
    workers.push_back(std::make_unique<Worker>());
    outcomes.push_back(workers.back()->start([lock] {
      std::error_code ec;
      lock->lock(ec);
      return ec;
    }));
    ASSERT_TRUE(workers.back()->falls_asleep());
  }
  one.close();
  for (auto& outcome : outcomes) EXPECT_EQ(outcome.get(), Errc::closed);
  if (has(Hook::counts)) {
    EXPECT_TRUE(eventually([&] { return store().waiters() == 0; }));
  }
  held.unlock();
  EXPECT_TRUE(held.try_lock());
  held.unlock();
}

MORTISE_TEST(Closing, MayHappenTwiceAndAtOnce) {
  for (int round = 0; round < 10; ++round) {
    Client one = client();
    Client other = client();
    Lock lock = one.make_lock("name");
    lock.lock();
    std::vector<std::jthread> closers;
    for (int i = 0; i < 4; ++i) closers.emplace_back([&] { one.close(); });
    closers.clear();
    one.close();
    std::error_code ec;
    lock.lock(ec);
    EXPECT_EQ(ec, Errc::closed);
    Lock next = other.make_lock("name");
    EXPECT_TRUE(taken_within(next, fallback_period * 2));
    next.unlock();
  }
}

MORTISE_TEST(Closing, ByDestructionWhileOthersWait) {
  Client holder = client();
  Lock held = holder.make_lock("name");
  held.lock();
  auto one = std::make_unique<Client>(client());
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<std::error_code>> outcomes;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(std::make_unique<Worker>());
    outcomes.push_back(
        workers.back()->start([lock = std::make_shared<Lock>(one->make_lock("name"))] {
          std::error_code ec;
          lock->lock(ec);
          return ec;
        }));
    ASSERT_TRUE(workers.back()->falls_asleep());
  }
  one.reset();
  for (auto& outcome : outcomes) EXPECT_EQ(outcome.get(), Errc::closed);
  held.unlock();
}

MORTISE_TEST(Closing, HandlesMayOutliveTheirClient) {
  Client other = client();
  auto one = std::make_unique<Client>(client());
  std::optional<Lock> lock = one->make_lock("name");
  std::optional<Guard> guard(std::in_place, *lock);
  ASSERT_TRUE(*guard);
  const std::stop_token lost = guard->lost();
  one.reset();
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_EQ(guard->valid_for(), 0ns);
  EXPECT_EQ(lock->name(), "name");
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, fallback_period * 2));
  lock.reset();
  guard.reset();
  EXPECT_EQ(next.hold_count(), 1U);
  next.unlock();
}

MORTISE_TEST(Closing, OfOneClientIsNoBusinessOfAnother) {
  Client one = client();
  Client other = client();
  Lock held = other.make_lock("name");
  held.lock();
  one.close();
  EXPECT_GT(held.valid_for(), 0ns);
  EXPECT_EQ(held.release(), Released::released);
}

MORTISE_TEST(Closing, AClientMayBeMoved) {
  Client other = client();
  Client one = client();
  Lock lock = one.make_lock("name");
  lock.lock();
  Client moved = std::move(one);
  EXPECT_FALSE(other.make_lock("name").try_lock());
  EXPECT_EQ(lock.hold_count(), 1U);
  Lock again = moved.make_lock("name");
  EXPECT_EQ(again.hold_count(), 1U);
  Client replaced = client();
  replaced = std::move(moved);
  EXPECT_EQ(lock.hold_count(), 1U);
  replaced = client();  // closes the client of the lock
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, fallback_period * 2));
  next.unlock();
}

MORTISE_TEST(Closing, RacesWithCallers) {
  Client other = client();
  for (int round = 0; round < 20; ++round) {
    auto one = std::make_unique<Client>(client());
    std::atomic<int> holds{0};
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&holds, lock = std::make_shared<Lock>(one->make_lock("name"))] {
          std::error_code ec;
          while (ec != Errc::closed) {
            lock->lock(ec);
            if (ec) continue;
            holds.fetch_add(1);
            lock->unlock(ec);
          }
        });
      }
      EXPECT_TRUE(eventually([&] { return holds.load() > 20; }));
      one.reset();
    }
    Lock next = other.make_lock("name");
    EXPECT_TRUE(next.try_lock_for(patience)) << "round " << round;
    next.unlock();
  }
}

MORTISE_TEST(Closing, RacesWithMessagesUnderWay, Hook::delays, Quality::holders) {
  Client other = client();
  Lock theirs = other.make_lock("name");
  std::atomic<bool> enough{false};
  Worker rival;  // its releases hand the name to clients that are about to close
  static_cast<void>(rival.start([&] {
    while (!enough.load()) {
      std::error_code ec;
      if (theirs.try_lock_for(1s, ec)) theirs.unlock(ec);
    }
  }));
  store().misbehave({.delay_min = 0ns, .delay_max = 300us, .seed = model::test_seed()});
  for (int round = 0; round < 60; ++round) {
    std::optional<Client> one = client();
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 2; ++i) {
        threads.emplace_back([lock = std::make_shared<Lock>(one->make_lock("name"))] {
          std::error_code ec;
          while (ec != Errc::closed) {
            if (lock->acquire({.wait = 5ms}, ec)) lock->unlock(ec);
          }
        });
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100 * (round % 20)));  // any moment
      one.reset();
    }
  }
  enough = true;
  rival.run([] {});
  store().misbehave({});
  const std::optional<Holder> left = theirs.holder();
  EXPECT_TRUE(taken_within(theirs, fallback_period * 3))
      << (left ? "held, for " + std::to_string(left->expires_in.value_or(0ms).count()) +
                     " ms more, by " + left->label + std::to_string(left->waiters.value_or(99))
               : "nobody holds it");
  if (theirs.hold_count() > 0) theirs.unlock();
}

/// @return the descriptors that are open, and what they lead to.
std::string what_is_open() {
  std::string all;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    all += " " + each.path().filename().string() + "=" +
           std::filesystem::read_symlink(each.path(), gone).string();
  }
  return all;
}

// Promise: L7
MORTISE_TEST(Closing, LeavesNothingBehind, Quality::loss) {
  take_any_clock();
  // What a process keeps that has had a client, once the way to the store has seen it leave. One
  // that lives may have more in a while: that of a cluster meets its servers one after the other.
  client().check(patience);
  std::size_t descriptors = 0;
  ASSERT_TRUE(eventually([&] {
    descriptors = open_descriptors();
    std::this_thread::sleep_for(100ms);
    return open_descriptors() == descriptors;
  }));
  const std::string before = what_is_open();
  const std::size_t threads = running_threads();
  {
    Client one = client();
    std::vector<Lock> locks;
    for (const char* const name : {"held", "held twice", "lost", "lost and kept", "free"}) {
      locks.push_back(one.make_lock(name, losable()));
    }
    locks[2].lock();
    lose(locks[2]);
    locks[2].unlock();
    locks[3].lock();
    lose(locks[3]);
    locks[0].lock();
    locks[1].lock();
    locks[1].lock();
    one.close();
    locks[1].unlock();
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors() == descriptors; }))
      << open_descriptors() << " descriptors, there were " << descriptors << ":" << before
      << "\nand now:" << what_is_open();
  EXPECT_TRUE(eventually([&] { return running_threads() <= threads; }));
}

}  // namespace
}  // namespace mortise::contract
