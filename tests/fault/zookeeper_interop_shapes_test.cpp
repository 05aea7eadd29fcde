// SPDX-License-Identifier: MIT
// Goal: our readers, writers and permits and those of Curator and of kazoo on one path keep each
// other out, wait for each other and let each other in. Method: real processes of those libraries.
#include "fault/zookeeper_fixture.hpp"
#include "support/zookeeper_stranger.hpp"
#include "zookeeper/lease_place.hpp"

#include <string>

namespace mortise::fault {
namespace {

using test::ZooKeeperLibrary;
using test::ZooKeeperStranger;

const LockOptions reading{.lease = 60s, .mode = Mode::shared};
const LockOptions writing{.lease = 60s};

struct Other {
  const char* word;
  ZooKeeperLibrary library;
  const char* interop;        ///< ours
  const char* read_patterns;  ///< kazoo's
  const char* write_patterns;
};

class ZooKeeperOtherReaders : public ZooKeeperTest, public ::testing::WithParamInterface<Other> {
 protected:
  void SetUp() override {
    ZooKeeperTest::SetUp();
    if (IsSkipped()) return;
    if (const std::string lack = test::missing(GetParam().library); !lack.empty()) {
      GTEST_SKIP() << lack << " is not there";
    }
  }
  [[nodiscard]] ZooKeeperStranger stranger(const std::string& kind) {
    return {GetParam().library, server().address(), path("a"), kind,
            kind == "read" ? GetParam().read_patterns : GetParam().write_patterns};
  }
  [[nodiscard]] Client ours() {
    return Client(url("session=20s&margin=300ms&interop=" + std::string(GetParam().interop)));
  }
};

TEST_P(ZooKeeperOtherReaders, ReadWithUs) {
  Client mine = ours();
  Lock reader = mine.lock("a", reading);
  ZooKeeperStranger other = stranger("read");
  EXPECT_EQ(other.ask("take"), "taken");
  EXPECT_TRUE(reader.try_lock_for(patience));
  EXPECT_EQ(other.ask("free"), "freed");
  EXPECT_EQ(other.ask("take"), "taken");
  EXPECT_EQ(other.ask("free"), "freed");
  EXPECT_EQ(reader.release(), Released::released);
  expect_free("a");
}

TEST_P(ZooKeeperOtherReaders, WaitForOurWriter) {
  Client mine = ours();
  Lock writer = mine.lock("a", writing);
  writer.lock();
  for (const char* const kind : {"read", "write"}) {
    ZooKeeperStranger other = stranger(kind);
    EXPECT_EQ(other.ask("try 300"), "busy") << kind;
    other.send("take");
    ASSERT_TRUE(come_to_wait("a"));
    EXPECT_EQ(other.answer(300ms), "") << kind;
    EXPECT_EQ(writer.release(), Released::released);
    EXPECT_EQ(other.answer(), "taken") << kind;
    EXPECT_EQ(other.ask("free"), "freed");
    writer.lock();
  }
  EXPECT_EQ(writer.release(), Released::released);
  expect_free("a");
}

TEST_P(ZooKeeperOtherReaders, TheirWriterWaitsForOurReader) {
  Client mine = ours();
  Lock reader = mine.lock("a", reading);
  reader.lock();
  ZooKeeperStranger other = stranger("write");
  EXPECT_EQ(other.ask("try 300"), "busy");
  other.send("take");
  ASSERT_TRUE(come_to_wait("a"));
  EXPECT_EQ(other.answer(300ms), "");
  EXPECT_FALSE(ours().lock("a", reading).try_lock()) << "it would overtake a writer";
  EXPECT_EQ(reader.release(), Released::released);
  EXPECT_EQ(other.answer(), "taken");
  EXPECT_FALSE(reader.try_lock_for(100ms));
  EXPECT_EQ(other.ask("free"), "freed");
  EXPECT_TRUE(reader.try_lock_for(patience));
  EXPECT_EQ(reader.release(), Released::released);
  expect_free("a");
}

TEST_P(ZooKeeperOtherReaders, OurWriterWaitsForTheirReader) {
  ZooKeeperStranger other = stranger("read");
  EXPECT_EQ(other.ask("take"), "taken");
  Client mine = ours();
  Lock writer = mine.lock("a", writing);
  EXPECT_FALSE(writer.try_lock_for(100ms));
  Party waiter(ours(), "a", writing);
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  EXPECT_FALSE(comes(served, 300ms));
  EXPECT_EQ(mine.queue("a").holders.front().mode, Mode::shared);
  EXPECT_EQ(other.ask("free"), "freed");
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_P(ZooKeeperOtherReaders, TheirWriterWaitsForAnOwnerThatReadsOn) {
  Client mine = ours();
  ReadWriteLock lock = mine.read_write_lock("a", {.lease = 60s});
  lock.lock();
  ZooKeeperStranger other = stranger("write");
  other.send("take");
  ASSERT_TRUE(come_to_wait("a"));
  lock.lock_shared();
  EXPECT_EQ(lock.writer().release(), Released::released);
  EXPECT_EQ(other.answer(500ms), "") << "it is read still";
  EXPECT_EQ(lock.reader().release(), Released::released);
  EXPECT_EQ(other.answer(), "taken");
  EXPECT_EQ(other.ask("free"), "freed");
  expect_free("a");
}

INSTANTIATE_TEST_SUITE_P(ZooKeeper, ZooKeeperOtherReaders,
                         ::testing::Values(Other{"Curator", ZooKeeperLibrary::curator, "readwrite",
                                                 "", ""},
                                           Other{"Kazoo", ZooKeeperLibrary::kazoo, "kazoo", "", ""},
                                           Other{"KazooWithPatterns", ZooKeeperLibrary::kazoo,
                                                 "mutex", "-lock-", "-lock-,-rlock-"}),
                         [](const auto& one) { return std::string(one.param.word); });

class ZooKeeperOtherPermits : public ZooKeeperTest {
 protected:
  void SetUp() override {
    ZooKeeperTest::SetUp();
    if (IsSkipped()) return;
    if (const std::string lack = test::missing(ZooKeeperLibrary::curator); !lack.empty()) {
      GTEST_SKIP() << lack << " is not there";
    }
  }
  [[nodiscard]] ZooKeeperStranger stranger() {
    return {ZooKeeperLibrary::curator, server().address(), "/" + root() + "/%permits/gate", "2"};
  }
  static Permit take(Semaphore& semaphore, std::chrono::nanoseconds wait = patience) {
    return semaphore.acquire({.wait = wait, .owner = Owner::unique()});
  }
};

TEST_F(ZooKeeperOtherPermits, AreCountedWithOurs) {
  Client mine(url("session=20s&margin=300ms"));
  Semaphore semaphore = mine.semaphore("gate", 2, {.lease = 60s});
  ZooKeeperStranger other = stranger();
  EXPECT_EQ(other.ask("take"), "taken");
  Permit one = take(semaphore);
  ASSERT_TRUE(one);
  EXPECT_FALSE(take(semaphore, 0ns));
  EXPECT_FALSE(take(semaphore, 200ms));
  EXPECT_EQ(other.ask("free"), "freed");
  Permit two = take(semaphore);
  ASSERT_TRUE(two);
  EXPECT_EQ(other.ask("try 300"), "busy");
  other.send("take");
  EXPECT_EQ(other.answer(300ms), "");
  one.release();
  EXPECT_EQ(other.answer(), "taken");
  Worker worker;
  auto served = worker.start([&] { return take(semaphore); });
  EXPECT_FALSE(comes(served, 300ms));
  EXPECT_EQ(other.ask("free"), "freed");
  EXPECT_TRUE(served.get());
}

}  // namespace
}  // namespace mortise::fault
