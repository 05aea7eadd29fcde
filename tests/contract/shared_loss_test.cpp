// SPDX-License-Identifier: MIT
// Goal: a shared hold is lost as any other, by each of its owners, and nothing of it stays behind.
// Method: leases that run out, readers whose hold is taken away, messages that are lost, clients
// that close.
#include "support/contract_suites.hpp"

#include <memory>
#include <thread>

namespace mortise::contract {
namespace {

using Callback = std::stop_callback<std::function<void()>>;

LockOptions shared(LockOptions options) {
  options.mode = Mode::shared;
  return options;
}

// Promise: S6
MORTISE_TEST(Sharing, ALossIsToldToEachReader, Quality::shared, Quality::loss) {
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Client one = client({.turn = 10min, .observer = record});
  Lock lock = one.make_lock("name", shared(losable()));
  const Owner second = Owner::unique();
  const Owner gone = Owner::unique();
  const Owner asks_late = Owner::unique();
  lock.lock();
  for (const Owner each : {second, gone, asks_late}) ASSERT_TRUE(lock.acquire({.owner = each}));
  ASSERT_TRUE(lock.acquire({.owner = second}));
  std::atomic<int> first_told{0};
  std::atomic<int> second_told{0};
  std::atomic<int> gone_told{0};
  const Callback one_hears(lock.lost(), [&] { ++first_told; });
  const Callback two_hears(lock.lost(second), [&] { ++second_told; });
  const Callback gone_hears(lock.lost(gone), [&] { ++gone_told; });
  EXPECT_EQ(lock.release(gone), Released::released);
  const Token token = lock.token();
  lose(lock);
  EXPECT_TRUE(eventually([&] { return second_told.load() == 1; }));
  EXPECT_TRUE(lock.lost(asks_late).stop_requested());
  EXPECT_EQ(lock.valid_for(second), 0ns);
  EXPECT_EQ(lock.token(second), token);
  std::error_code ec;
  EXPECT_FALSE(lock.acquire({.owner = second}, ec));
  EXPECT_EQ(ec, Errc::lost);
  EXPECT_EQ(lock.release(), Released::was_lost);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(lock.release(second), Released::was_lost);
  EXPECT_EQ(lock.release(asks_late), Released::was_lost);
  EXPECT_EQ(lock.release(ec, second), Released::was_lost);
  EXPECT_EQ(ec, Errc::not_owner);
  ASSERT_TRUE(record->told(Record::Kind::lost, 3));
  Lock writer = one.make_lock("name");
  EXPECT_TRUE(writer.try_lock_for(patience)) << "the readers hold it still";
  writer.unlock();
  one.close();
  EXPECT_EQ(first_told.load(), 1);
  EXPECT_EQ(second_told.load(), 1);
  EXPECT_EQ(gone_told.load(), 0) << "it had unlocked before";
  EXPECT_EQ(record->count(Record::Kind::lost), 3U);
}

MORTISE_TEST(Sharing, OneReadersCallbackDoesNotDelayTheOthers, Quality::shared, Quality::loss) {
  take_any_clock();
  Client one = client({.turn = 10min});
  Lock lock = one.make_lock("name", shared(losable()));
  const Owner second = Owner::unique();
  lock.lock();
  ASSERT_TRUE(lock.acquire({.owner = second}));
  Signal told;
  Signal ends;
  const Callback blocks(lock.lost(), [&] { static_cast<void>(ends.wait()); });
  const Callback hears(lock.lost(second), [&] { told.set(); });
  lose(lock);
  EXPECT_TRUE(told.wait());
  ends.set();
  lock.unlock();
  lock.unlock(second);
}

MORTISE_TEST(Sharing, IsRenewedAsLongAsAReaderHolds, Quality::shared, Quality::leases,
             Hook::hand_clock) {
  take_the_clock();
  Party one = party();
  Client other = client();
  Lock lock = one.client.make_lock("name", {.lease = 30s, .mode = Mode::shared});
  const Owner second = Owner::unique();
  lock.lock();
  ASSERT_TRUE(lock.acquire({.owner = second}));
  lock.unlock();
  Lock writer = other.make_lock("name");
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t before = one.probe->counts().renewals;
    clock().advance(10s);
    ASSERT_TRUE(eventually([&] { return one.probe->counts().renewals > before; }));
    ASSERT_TRUE(eventually([&] { return lock.valid_for(second) > 25s; }));
    EXPECT_FALSE(writer.try_lock());
  }
  lock.unlock(second);
  EXPECT_TRUE(writer.try_lock());
}

MORTISE_TEST(Sharing, AReadersLeaseRunsOutAtTheServer, Quality::shared, Quality::leases,
             Hook::hand_clock) {
  take_the_clock();
  Party dead = party();
  Client other = client();
  Client third = client();
  const LockOptions brief{.lease = 3s, .mode = Mode::shared};
  Lock lost = dead.client.make_lock("name", brief);
  Lock stays = third.make_lock("name", {.lease = 30s, .mode = Mode::shared});
  lost.lock();
  stays.lock();
  dead.probe->sever();
  clock().advance(4s);
  Lock writer = other.make_lock("name");
  EXPECT_FALSE(writer.try_lock()) << "the other reader's stands";
  stays.unlock();
  EXPECT_TRUE(writer.try_lock()) << "the dead one's does not";
  EXPECT_EQ(lost.valid_for(), 0ns);
}

MORTISE_TEST(Sharing, WhatIsTakenAwayIsLost, Quality::shared, Hook::take_away, Hook::hand_clock) {
  take_the_clock();
  Client one = client();
  ReadWriteLock lock = one.make_read_write_lock("name", {.lease = 30s});
  lock.lock();
  lock.lock_shared();
  lock.unlock();
  store().take_away("name");
  const std::stop_token lost = lock.reader().lost();
  clock().advance(11s);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_EQ(lock.reader().release(), Released::was_lost);
}

MORTISE_TEST(Sharing, OwnerAndReaderAreLostTogether, Quality::shared, Quality::loss,
             Hook::hand_clock) {
  take_the_clock();
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  ReadWriteLock lock = one.make_read_write_lock("name", losable());
  lock.lock();
  lock.lock_shared();
  lose(lock.reader());
  ASSERT_TRUE(eventually([&] { return lock.writer().lost().stop_requested(); }));
  std::error_code ec;
  EXPECT_FALSE(lock.try_lock_shared(ec));
  EXPECT_EQ(ec, Errc::lost);
  EXPECT_EQ(lock.writer().release(), Released::was_lost);
  EXPECT_FALSE(lock.try_lock(ec));
  EXPECT_EQ(ec, Errc::lost) << "the reader's is not unlocked yet";
  EXPECT_EQ(lock.reader().release(), Released::was_lost);
  EXPECT_TRUE(record->told(Record::Kind::lost, 2));
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// Promise: S5
MORTISE_TEST(Sharing, LostMessagesLeaveNoReaderBehind, Quality::shared, Hook::lost_messages) {
  store().misbehave({.lose_request = 0.1, .lose_reply = 0.1, .lose_push = 0.2, .seed = 11});
  const LockOptions reads{.lease = 1s, .mode = Mode::shared};
  const LockOptions writes{.lease = 1s};
  std::atomic<int> readers{0};
  std::atomic<int> writers{0};
  std::atomic<int> met{0};
  {
    std::vector<Client> clients;
    for (int i = 0; i < 3; ++i) clients.push_back(client());
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < 6; ++i) {
      workers.push_back(std::make_unique<Worker>());
      Client& mine = clients[static_cast<std::size_t>(i) / 2];
      static_cast<void>(workers.back()->start([&, i] {
        Lock lock = mine.make_lock("name", i % 3 == 0 ? writes : reads);
        for (int n = 0; n < 12; ++n) {
          std::error_code ec;  // in doubt, perhaps
          if (!lock.try_lock_for(5s, ec)) continue;
          if (i % 3 == 0) {
            if (writers.fetch_add(1) > 0 || readers.load() > 0) met.fetch_add(1);
            writers.fetch_sub(1);
          } else {
            readers.fetch_add(1);
            if (writers.load() > 0) met.fetch_add(1);
            readers.fetch_sub(1);
          }
          lock.unlock();
        }
      }));
    }
  }
  EXPECT_EQ(met.load(), 0);
  store().misbehave({});
  Client last = client();
  Lock lock = last.make_lock("name", writes);
  EXPECT_TRUE(lock.try_lock_for(patience)) << "somebody holds it who does not know";
}

// Promise: S9
MORTISE_TEST(Sharing, CloseFreesTheReaders, Quality::shared) {
  Client other = client();
  std::atomic<int> told{0};
  {
    Client one = client();
    ReadWriteLock lock = one.make_read_write_lock("name");
    const Owner second = Owner::unique();
    lock.lock();
    lock.lock_shared();
    lock.unlock();
    ASSERT_TRUE(lock.reader().acquire({.owner = second}));
    const Callback hears(lock.reader().lost(), [&] { ++told; });
    const Callback second_hears(lock.reader().lost(second), [&] { ++told; });
    one.close();
    EXPECT_TRUE(eventually([&] { return told.load() == 2; }));
    EXPECT_EQ(lock.reader().release(), Released::unknown);
    std::error_code ec;
    lock.lock_shared(ec);
    EXPECT_EQ(ec, Errc::closed);
  }
  Lock writer = other.make_lock("name");
  EXPECT_TRUE(writer.try_lock());
  writer.unlock();
}

MORTISE_TEST(Sharing, AClosedClientsHoldsOfBothModesAreFree, Quality::shared) {
  Client other = client();
  Client one = client();
  ReadWriteLock lock = one.make_read_write_lock("name");
  lock.lock();
  lock.lock_shared();
  one.close();
  Lock writer = other.make_lock("name");
  EXPECT_TRUE(writer.try_lock());
  writer.unlock();
}

}  // namespace
}  // namespace mortise::contract
