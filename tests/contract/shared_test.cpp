// SPDX-License-Identifier: MIT
// Goal: readers hold a name together, a writer holds it alone, and neither side waits for ever.
// Method: readers and writers of one client and of several, in every order of arrival; a probe
// counts what the server is asked.
#include "support/contract_readers.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace mortise::contract {
namespace {

// Promise: S1
MORTISE_TEST(Sharing, ReadersHoldTogetherAndAWriterAlone, Quality::shared) {
  Client one = client();
  Client other = client();
  Lock reader = one.make_lock("name", reading);
  Lock writer = other.make_lock("name");
  reader.lock();
  EXPECT_TRUE(readable(one));
  EXPECT_TRUE(readable(other));
  EXPECT_FALSE(writable(one));
  EXPECT_FALSE(writable(other));
  EXPECT_EQ(reader.release(), Released::released);
  EXPECT_TRUE(writer.try_lock());
  for (Client* const each : {&one, &other}) {
    EXPECT_FALSE(readable(*each));
    EXPECT_FALSE(writable(*each));
  }
  writer.unlock();
  EXPECT_TRUE(readable(one));
}

MORTISE_TEST(Sharing, OneOfTwoReadersKeepsAWriterOut, Quality::shared) {
  Client one = client();
  Client other = client();
  Client third = client();
  Somebody a(one, reading);
  Somebody b(one, reading);
  Somebody c(other, reading);
  for (Somebody* const each : {&a, &b, &c}) EXPECT_TRUE(each->takes());
  a.end();
  EXPECT_FALSE(writable(third)) << "its client has another one";
  c.end();
  EXPECT_FALSE(writable(third));
  b.end();
  EXPECT_TRUE(writable(third));
}

MORTISE_TEST(Sharing, CostsOneRoundTripToTakeAndNoneToJoin, Quality::shared, Hook::hand_clock) {
  take_the_clock();  // it stands still: no turn ends
  Party asking = party();
  Lock lock = asking.client.make_lock("name", reading);
  const Probe::Counts before = asking.probe->counts();
  lock.lock();
  EXPECT_EQ(asking.probe->counts().all(), before.all() + 1);
  Worker worker;
  worker.run([&] {
    lock.lock();
    lock.lock();
    EXPECT_EQ(lock.hold_count(), 2U);
    lock.unlock();
    lock.unlock();
  });
  EXPECT_EQ(asking.probe->counts().all(), before.all() + 1) << "its thread asked the server";
  EXPECT_EQ(lock.hold_count(), 1U);
  lock.unlock();
  EXPECT_EQ(asking.probe->counts().all(), before.all() + 2);
}

// Promise: L6
MORTISE_TEST(Sharing, AReaderWaitsBehindAWriterThatWaits, Quality::shared, Quality::fair,
             Hook::counts) {
  Client one = client();
  Client other = client();
  Client third = client();
  Somebody first(one, reading);
  Somebody writer(other);
  Somebody second(third, reading);
  ASSERT_TRUE(first.takes());
  writer.ask();
  ASSERT_TRUE(eventually([&] { return store().waiters() == 1; }));
  EXPECT_FALSE(readable(third)) << "it would overtake a writer of another client";
  EXPECT_FALSE(readable(other)) << "and one of its own";
  second.ask();
  ASSERT_TRUE(eventually([&] { return store().waiters() == 2; }));
  const Token before = first.end();
  EXPECT_TRUE(writer.served());
  EXPECT_FALSE(second.has());
  const Token written = writer.end();
  EXPECT_TRUE(second.served());
  const Token after = second.end();
  EXPECT_LT(before, written);
  EXPECT_LT(written, after);
}

MORTISE_TEST(Sharing, InsideAClientTheOrderIsTheSame, Quality::shared) {
  Client one = client();
  Somebody first(one, reading);
  Somebody writer(one);
  Somebody second(one, reading);
  Somebody third(one, reading);
  ASSERT_TRUE(first.takes());
  writer.ask();
  EXPECT_FALSE(readable(one)) << "it would overtake the writer";
  second.ask();
  third.ask();
  EXPECT_FALSE(second.has());
  const Token before = first.end();
  EXPECT_TRUE(writer.served());
  EXPECT_FALSE(second.has());
  EXPECT_FALSE(third.has());
  const Token written = writer.end();
  EXPECT_TRUE(second.served());
  EXPECT_TRUE(third.served());
  const Token after = second.end();
  EXPECT_EQ(third.end(), after) << "they share one grant";
  EXPECT_LT(before, written);
  EXPECT_LT(written, after);
}

// No hold is renewed while the test counts: on ZooKeeper a client that has renewed a hold watches
// the hold's node, and its own release notifies it as well.
MORTISE_TEST(Sharing, AFreedNameIsForAllReadersThatLead, Quality::shared, Quality::fair,
             Hook::counts) {
  have_long_leases();
  std::vector<Client> clients;
  for (int i = 0; i < 6; ++i) clients.push_back(client());
  Somebody writer(clients[0]);
  Somebody a(clients[1], reading);
  Somebody b(clients[2], reading);
  Somebody with_b(clients[2], reading);
  Somebody next(clients[3]);
  Somebody c(clients[4], reading);
  ASSERT_TRUE(writer.takes());
  std::size_t waiters = 0;
  for (Somebody* const each : {&a, &b, &next, &c}) {
    each->ask();
    ++waiters;
    ASSERT_TRUE(eventually([&] { return store().waiters() == waiters; }));
  }
  with_b.ask();
  const std::uint64_t pushes = store().pushes();
  writer.end();
  for (Somebody* const each : {&a, &b, &with_b}) EXPECT_TRUE(each->served());
  EXPECT_EQ(store().pushes(), pushes + 2) << "one wake for each client that can go on";
  EXPECT_FALSE(next.has());
  EXPECT_FALSE(c.has());
  for (Somebody* const each : {&a, &b, &with_b}) each->end();
  EXPECT_TRUE(next.served());
  EXPECT_FALSE(c.has());
  next.end();
  EXPECT_TRUE(c.served());
}

// Promise: S2
MORTISE_TEST(Sharing, TokensOrderReadersAndWriters, Quality::shared) {
  take_any_clock();  // numbers are not drawn of one that stands still
  Client one = client({.turn = 10s});
  Client other = client();
  Lock reader = one.make_lock("name", reading);
  Lock writer = one.make_lock("name");
  Lock elsewhere = other.make_lock("name", reading);
  Token largest;
  for (int i = 0; i < 5; ++i) {
    // A writer's hold that is passed on has a larger token than its grant.
    writer.lock();
    Somebody next(one);
    next.ask();
    EXPECT_GT(writer.token(), largest);
    writer.unlock();
    EXPECT_TRUE(next.served());
    const Token written = next.end();
    reader.lock();
    elsewhere.lock();
    EXPECT_GT(reader.token(), written);
    EXPECT_GT(elsewhere.token(), written);
    largest = std::max(reader.token(), elsewhere.token());
    EXPECT_EQ(reader.token(), reader.token());
    elsewhere.unlock();
    reader.unlock();
  }
}

MORTISE_TEST(Sharing, AnOwnerGoesOnAsAReader, Quality::shared, Hook::counts) {
  Client one = client();
  Client other = client();
  ReadWriteLock lock = one.make_read_write_lock("name");
  Somebody writer(other);
  Somebody behind(one, reading);
  lock.lock();
  const Token owned = lock.writer().token();
  writer.ask();
  ASSERT_TRUE(eventually([&] { return store().waiters() == 1; }));
  behind.ask();
  EXPECT_TRUE(lock.try_lock_shared()) << "nobody may be in between";
  EXPECT_FALSE(behind.has());
  EXPECT_GE(lock.reader().token(), owned);
  EXPECT_EQ(lock.writer().hold_count(), 1U);
  EXPECT_EQ(lock.reader().hold_count(), 1U);
  EXPECT_EQ(lock.writer().release(), Released::released);
  EXPECT_EQ(lock.writer().hold_count(), 0U);
  EXPECT_GT(lock.reader().valid_for(), 0ns);
  EXPECT_FALSE(writer.has()) << "it is read still";
  EXPECT_FALSE(writable(one));
  EXPECT_EQ(lock.reader().release(), Released::released);
  behind.end();
  EXPECT_TRUE(writer.served());
}

MORTISE_TEST(Sharing, AnOwnerMayStopReadingFirst, Quality::shared) {
  Client one = client();
  Client other = client();
  ReadWriteLock lock = one.make_read_write_lock("name");
  lock.lock();
  for (int i = 0; i < 3; ++i) {
    lock.lock_shared();
    EXPECT_EQ(lock.reader().release(), Released::released);
    EXPECT_FALSE(readable(other)) << "it is the owner still";
  }
  EXPECT_EQ(lock.writer().release(), Released::released);
  EXPECT_TRUE(writable(other));
}

// Promise: S2
MORTISE_TEST(Sharing, WhoeverComesBehindAnOwnerThatHasReadHasALargerToken, Quality::shared) {
  take_any_clock();  // numbers are not drawn of one that stands still
  Client one = client({.turn = 10s});
  ReadWriteLock lock = one.make_read_write_lock("name");
  lock.lock();
  lock.lock_shared();
  const Token read = lock.reader().token();
  EXPECT_GE(read, lock.writer().token());
  lock.unlock_shared();
  Somebody next(one);
  next.ask();
  lock.unlock();
  EXPECT_TRUE(next.served());
  EXPECT_GT(next.end(), read) << "a store that was shown that one refuses the next writer";
}

MORTISE_TEST(Sharing, AReaderIsRefusedInsteadOfWaitingForItself, Quality::shared) {
  Client one = client();
  ReadWriteLock lock = one.make_read_write_lock("name");
  lock.lock_shared();
  std::error_code ec;
  lock.lock(ec);
  EXPECT_EQ(ec, Errc::unsupported);
  EXPECT_FALSE(lock.try_lock(ec));
  EXPECT_EQ(ec, Errc::unsupported);
  EXPECT_THROW(static_cast<void>(lock.try_lock_for(1s)), Error);
  const Guard guard(lock.writer(), {.wait = 1s}, ec);
  EXPECT_FALSE(guard);
  EXPECT_NE(guard.error_text().find("reader"), std::string::npos) << guard.error_text();
  EXPECT_EQ(lock.reader().hold_count(), 1U);
  lock.unlock_shared();
  EXPECT_TRUE(lock.try_lock()) << "an owner as any other";
  lock.unlock();
}

// Promise: S7
MORTISE_TEST(Sharing, UnlocksAreOfTheirOwnMode, Quality::shared) {
  Client one = client();
  ReadWriteLock lock = one.make_read_write_lock("name");
  lock.lock_shared();
  lock.lock_shared();
  std::error_code ec;
  lock.unlock(ec);
  EXPECT_EQ(ec, Errc::not_owner);
  Worker stranger;
  EXPECT_EQ(stranger.run([&] {
    std::error_code its;
    lock.unlock_shared(its);
    return its;
  }),
            Errc::not_owner);
  EXPECT_EQ(lock.reader().hold_count(), 2U);
  lock.unlock_shared();
  lock.unlock_shared();
  lock.unlock_shared(ec);
  EXPECT_EQ(ec, Errc::not_owner);
}

}  // namespace
}  // namespace mortise::contract
