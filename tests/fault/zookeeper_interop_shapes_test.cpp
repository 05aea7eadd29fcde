// SPDX-License-Identifier: MIT
// Goal: our readers, writers and permits and those of Curator and of kazoo on one path keep each
// other out, wait for each other and let each other in. Method: real processes of those libraries.
#include "fault/zookeeper_fixture.hpp"
#include "model/process.hpp"
#include "support/zookeeper_stranger.hpp"
#include "zookeeper/lease_place.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

namespace mortise::fault {
namespace {

using test::ZooKeeperLibrary;
using test::ZooKeeperStranger;

const LockOptions as_reader{.lease = 60s, .mode = Mode::shared};
const LockOptions writing{.lease = 60s};

struct Other {
  const char* word;
  ZooKeeperLibrary library;
  const char* interop;        ///< ours
  const char* read_patterns;  ///< kazoo's
  const char* write_patterns;
};

std::ostream& operator<<(std::ostream& out, const Other& other) { return out << other.word; }

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
  Lock reader = mine.make_lock("a", as_reader);
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
  Lock writer = mine.make_lock("a", writing);
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
  Lock reader = mine.make_lock("a", as_reader);
  reader.lock();
  ZooKeeperStranger other = stranger("write");
  EXPECT_EQ(other.ask("try 300"), "busy");
  other.send("take");
  ASSERT_TRUE(come_to_wait("a"));
  EXPECT_EQ(other.answer(300ms), "");
  EXPECT_FALSE(ours().make_lock("a", as_reader).try_lock()) << "it would overtake a writer";
  EXPECT_EQ(reader.release(), Released::released);
  EXPECT_EQ(other.answer(), "taken");
  EXPECT_FALSE(reader.try_lock_for(answer_time));
  EXPECT_EQ(other.ask("free"), "freed");
  EXPECT_TRUE(reader.try_lock_for(patience));
  EXPECT_EQ(reader.release(), Released::released);
  expect_free("a");
}

TEST_P(ZooKeeperOtherReaders, OurWriterWaitsForTheirReader) {
  ZooKeeperStranger other = stranger("read");
  EXPECT_EQ(other.ask("take"), "taken");
  Client mine = ours();
  Lock writer = mine.make_lock("a", writing);
  EXPECT_FALSE(writer.try_lock_for(answer_time));
  Party waiter(ours(), "a", writing);
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  EXPECT_FALSE(comes_within(served, 300ms));
  EXPECT_EQ(mine.queue("a").holders.front().mode, Mode::shared);
  EXPECT_EQ(other.ask("free"), "freed");
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_P(ZooKeeperOtherReaders, TheirWriterWaitsForAnOwnerThatReadsOn) {
  Client mine = ours();
  ReadWriteLock lock = mine.make_read_write_lock("a", {.lease = 60s});
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
    return semaphore.acquire({.wait = wait});
  }
};

TEST_F(ZooKeeperOtherPermits, AreCountedWithOurs) {
  Client mine(url("session=20s&margin=300ms"));
  Semaphore semaphore = mine.make_semaphore("gate", 2, {.lease = 60s});
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
  one.unlock();
  EXPECT_EQ(other.answer(), "taken");
  Worker worker;
  auto served = worker.start([&] { return take(semaphore); });
  EXPECT_FALSE(comes_within(served, 300ms));
  EXPECT_EQ(other.ask("free"), "freed");
  EXPECT_TRUE(served.get());
}

// As the others: a file is there exactly while somebody has a permit, one for each of them; another
// one counts them. Whoever finds all places taken has one too many.
bool enter_and_leave(const std::string& inside, int places) {
  for (int i = 0; i < places; ++i) {
    const std::string place = i == 0 ? inside : inside + "." + std::to_string(i);
    const int fd = ::open(place.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) continue;
    ::close(fd);
    std::ofstream(inside + ".count", std::ios::app) << '.';
    return ::unlink(place.c_str()) == 0;
  }
  return false;
}

// All want one all the time, so each of them is woken by those of the other side, too: nobody looks
// by himself as often as that.
TEST_F(ZooKeeperOtherPermits, SixProcessesHaveTwoAtATime) {
  constexpr int of_each = 3;
  constexpr int times = 60;
  constexpr int permits = 2;
  const model::TemporaryDirectory directory;
  const std::string inside = directory.file("inside");
  const std::string at = url("session=20s&margin=300ms");
  std::vector<model::Process> ours;
  std::vector<ZooKeeperStranger> theirs;
  ours.reserve(of_each);
  theirs.reserve(of_each);
  for (int i = 0; i < of_each; ++i) theirs.push_back(stranger());
  const std::string order =
      "cycle " + std::to_string(times) + " " + inside + " " + std::to_string(permits);
  for (ZooKeeperStranger& other : theirs) other.send(order);
  for (int i = 0; i < of_each; ++i) {
    ours.push_back(model::Process::fork_child([&] {
      Client mine(at);
      Semaphore semaphore = mine.make_semaphore("gate", permits);
      for (int n = 0; n < times; ++n) {
        const Permit permit = semaphore.acquire({.wait = 30s});
        if (!permit || !enter_and_leave(inside, permits)) return 1;
      }
      return 0;
    }));
  }
  for (model::Process& one : ours) {
    const auto exit = one.wait_for(60s);
    ASSERT_TRUE(exit) << "one of ours was not served";
    EXPECT_EQ(exit->code, 0) << "three had a permit, or one of ours was not served";
  }
  for (ZooKeeperStranger& other : theirs) EXPECT_EQ(other.answer(), "done");
  EXPECT_EQ(std::filesystem::file_size(inside + ".count"), 2U * of_each * times);
  ZooKeeperTalk talk = server().talk();
  const std::string gate = "/" + root() + "/%permits/gate";
  EXPECT_TRUE(eventually([&] {
    return talk.children(gate + "/leases").empty() && talk.children(gate + "/locks").empty();
  }));
}

}  // namespace
}  // namespace mortise::fault
