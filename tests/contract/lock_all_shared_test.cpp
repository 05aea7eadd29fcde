// SPDX-License-Identifier: MIT
// Goal: lock_all() takes names as a reader and exclusively in one call, all or none, and gives each
// back by its own mode. Method: some of the names are held elsewhere; others look at what is left.
#include "support/contract_readers.hpp"
#include "support/contract_several.hpp"

#include <optional>
#include <thread>

namespace mortise::contract {
namespace {

bool has_as(Client& client, const std::string& name, Mode mode) {
  Lock lock = client.make_lock(name, {.mode = mode});
  const bool got = lock.try_lock();
  if (got) lock.unlock();
  return got;
}

// Promise: N1
MORTISE_TEST(LockAll, TakesReadersAndOwnersTogether, Quality::shared) {
  Client one = client();
  Client other = client();
  Lock read = one.make_lock("a", reading);
  Lock written = one.make_lock("b");
  Several all = lock_all({written, read});
  ASSERT_TRUE(all);
  EXPECT_EQ(all.size(), 2U);
  EXPECT_GT(all.valid_for(), 0ns);
  EXPECT_EQ(read.hold_count(), 1U);
  EXPECT_EQ(written.hold_count(), 1U);
  EXPECT_TRUE(has_as(other, "a", Mode::shared));
  EXPECT_FALSE(has_as(other, "a", Mode::exclusive));
  EXPECT_FALSE(has_as(other, "b", Mode::shared));
  EXPECT_EQ(all.unlock(), Released::released);
  EXPECT_EQ(read.hold_count(), 0U);
  EXPECT_EQ(written.hold_count(), 0U);
  EXPECT_TRUE(has_as(other, "a", Mode::exclusive));
  EXPECT_TRUE(has_as(other, "b", Mode::exclusive));
}

// Promise: N1
MORTISE_TEST(LockAll, HoldsNoneOfEitherModeWhereOneIsWrittenElsewhere, Quality::shared) {
  Client one = client();
  Client other = client();
  Client third = client();
  Lock read = one.make_lock("m", reading);
  for (const char* const mine : {"a", "z"}) {  // before and behind it
    Lock written = one.make_lock(mine);
    for (const std::string& busy : {std::string("m"), std::string(mine)}) {
      Lock writer = other.make_lock(busy);
      ASSERT_TRUE(writer.try_lock_for(patience));
      const std::string free = busy == "m" ? mine : "m";
      for (const std::chrono::nanoseconds wait : {0ns, std::chrono::nanoseconds(answer_time)}) {
        std::error_code ec;
        const Several none = lock_all({read, written}, {.wait = wait}, ec);
        EXPECT_FALSE(none);
        EXPECT_EQ(ec, Errc::timeout);
        EXPECT_EQ(none.failed_name(), busy);
        EXPECT_EQ(read.hold_count(), 0U);
        EXPECT_EQ(written.hold_count(), 0U);
        EXPECT_TRUE(has_as(third, free, Mode::exclusive)) << free;
      }
      Worker waiter;
      auto done = waiter.start([&] {
        const Several all = lock_all({read, written}, {.wait = patience});
        return static_cast<bool>(all);
      });
      ASSERT_TRUE(waiter.falls_asleep());
      EXPECT_TRUE(eventually([&] { return has_as(third, free, Mode::exclusive); })) << free;
      writer.unlock();
      EXPECT_TRUE(done.get());
    }
  }
}

MORTISE_TEST(LockAll, ReadsWhatIsReadElsewhere, Quality::shared) {
  Client one = client();
  Client other = client();
  Lock elsewhere = other.make_lock("a", reading);
  elsewhere.lock();
  Lock read = one.make_lock("a", reading);
  Lock written = one.make_lock("b");
  EXPECT_TRUE(lock_all({read, written}, {.wait = 0s}));
  Lock wanted = one.make_lock("a");
  const Several none = lock_all({wanted, written}, {.wait = 0s});
  EXPECT_FALSE(none);
  EXPECT_EQ(none.failed_name(), "a");
  elsewhere.unlock();
}

// It has the name in the other mode as well, which is not what was taken here.
MORTISE_TEST(LockAll, GivesBackByTheModeOfEach, Quality::shared) {
  Client one = client();
  Client other = client();
  ReadWriteLock mine = one.make_read_write_lock("a");
  Lock busy = other.make_lock("b");
  busy.lock();
  Lock wanted = one.make_lock("b");
  mine.lock();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(lock_all({mine.reader(), wanted}, {.wait = 0s}));
    EXPECT_EQ(mine.reader().hold_count(), 0U);
    EXPECT_EQ(mine.writer().hold_count(), 1U) << "it was held before the call";
  }
  busy.unlock();
  {
    const Several both = lock_all({mine.reader(), wanted}, {.wait = patience});
    EXPECT_TRUE(both);
    EXPECT_EQ(mine.reader().hold_count(), 1U);
  }
  EXPECT_EQ(mine.reader().hold_count(), 0U);
  EXPECT_EQ(mine.writer().release(), Released::released);
  EXPECT_TRUE(has_as(other, "a", Mode::exclusive));
}

MORTISE_TEST(LockAll, RefusesOneNameInBothModes, Quality::shared) {
  Party asking = party();
  ReadWriteLock both = asking.client.make_read_write_lock("a");
  Lock before = asking.client.make_lock("0");
  const Probe::Counts counts = asking.probe->counts();
  std::error_code ec;
  const Several none = lock_all({both.reader(), before, both.writer(), both.reader()}, {}, ec);
  EXPECT_FALSE(none);
  EXPECT_EQ(ec, Errc::misconfigured);
  EXPECT_EQ(none.failed_name(), "a");
  EXPECT_EQ(none.error_text().find("a: "), 0U) << none.error_text();
  EXPECT_NE(none.error_text().find("both shared and exclusive"), std::string::npos)
      << none.error_text();
  EXPECT_THROW(static_cast<void>(lock_all({both.writer(), both.reader()})), Error);
  EXPECT_EQ(asking.probe->counts().all(), counts.all()) << "nothing was asked for";
  EXPECT_EQ(both.reader().hold_count() + both.writer().hold_count() + before.hold_count(), 0U);
}

MORTISE_TEST(LockAll, ReentersAReaderThatIsNamedTwice, Quality::shared) {
  Client one = client();
  Client other = client();
  Lock read = one.make_lock("a", reading);
  Lock same = one.make_lock("a", reading);
  Several all = lock_all({read, same});
  ASSERT_TRUE(all);
  EXPECT_EQ(all.size(), 2U);
  EXPECT_EQ(read.hold_count(), 2U);
  EXPECT_TRUE(has_as(other, "a", Mode::shared));
  EXPECT_EQ(all.unlock(), Released::released);
  EXPECT_EQ(read.hold_count(), 0U);
  EXPECT_TRUE(has_as(other, "a", Mode::exclusive));
}

MORTISE_TEST(LockAll, AReaderIsRefusedWhatItReads, Quality::shared) {
  Client one = client();
  ReadWriteLock lock = one.make_read_write_lock("a");
  Lock another = one.make_lock("b");
  lock.lock_shared();
  std::error_code ec;
  const Several none = lock_all({another, lock.writer()}, {}, ec);
  EXPECT_EQ(ec, Errc::unsupported);
  EXPECT_EQ(none.failed_name(), "a");
  EXPECT_EQ(another.hold_count(), 0U);
  EXPECT_EQ(lock.reader().hold_count(), 1U);
  lock.unlock_shared();
}

// They count for each reader of its own: what its thread leaves behind is the guard's.
MORTISE_TEST(LockAll, OutlivesTheThreadThatRead, Quality::shared) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  const LockOptions options{.lease = renewed_lease(), .mode = Mode::shared};
  std::vector<Lock> read = locks_of(one, {"a", "b"}, options);
  std::optional<Several> all;
  std::thread([&] { all.emplace(lock_all(all_of(read))); }).join();
  // Both for longer than a lease, where they have one.
  EXPECT_TRUE(!leases() || record->told(Record::Kind::renewed, 8));
  EXPECT_GT(all->valid_for(), 0ns);
  for (const char* const name : {"a", "b"}) EXPECT_FALSE(has_as(other, name, Mode::exclusive));
  EXPECT_EQ(all->unlock(), Released::released);
  for (const char* const name : {"a", "b"}) EXPECT_TRUE(has_as(other, name, Mode::exclusive));
}

}  // namespace
}  // namespace mortise::contract
