// SPDX-License-Identifier: MIT
// Goal: our locks and those of Curator and of kazoo on one path exclude each other, wait for each
// other and free each other when they die. Method: real processes of those libraries, one at a time
// and in a crowd; a file that is there exactly while somebody holds the lock tells of two holders.
#include "fault/zookeeper_fixture.hpp"
#include "model/process.hpp"
#include "support/zookeeper_stranger.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <ostream>

namespace mortise::test {
std::ostream& operator<<(std::ostream& out, ZooKeeperLibrary library) {
  return out << name_of(library);
}
}  // namespace mortise::test

namespace mortise::fault {
namespace {

using test::ZooKeeperLibrary;
using test::ZooKeeperStranger;

class ZooKeeperOthers : public ZooKeeperTest,
                        public ::testing::WithParamInterface<ZooKeeperLibrary> {
 protected:
  void SetUp() override {
    ZooKeeperTest::SetUp();
    if (IsSkipped()) return;
    if (const std::string lack = test::missing(GetParam()); !lack.empty()) {
      GTEST_SKIP() << lack << " is not there";
    }
  }
  [[nodiscard]] ZooKeeperStranger stranger(const std::string& name) {
    return {GetParam(), server().address(), path(name)};
  }
};

/// As the others: a file is there exactly while somebody holds the lock, another one counts them.
/// @return whether nobody else was inside
bool cycle(Lock& lock, int times, const std::string& inside) {
  for (int i = 0; i < times; ++i) {
    const Guard guard(lock);
    const int fd = ::open(inside.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    ::close(fd);
    std::ofstream(inside + ".count", std::ios::app) << '.';
    if (::unlink(inside.c_str()) != 0) return false;
  }
  return true;
}

TEST_P(ZooKeeperOthers, WaitForUs) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  ZooKeeperStranger other = stranger("a");
  EXPECT_EQ(other.ask("try 300"), "busy");
  other.send("take");
  ASSERT_TRUE(come_to_wait("a"));
  EXPECT_EQ(other.answer(300ms), "");
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(other.answer(), "taken");
  EXPECT_FALSE(lock.try_lock_for(answer_time));
  EXPECT_EQ(other.ask("free"), "freed");
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

TEST_P(ZooKeeperOthers, AreWaitedForByUs) {
  ZooKeeperStranger other = stranger("a");
  EXPECT_EQ(other.ask("take"), "taken");
  Client mine = client();
  Lock lock = mine.make_lock("a");
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock_for(answer_time));
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  EXPECT_FALSE(comes_within(served, 300ms));
  EXPECT_EQ(other.ask("free"), "freed");
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_P(ZooKeeperOthers, QueueWithUsInOneOrder) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  ZooKeeperStranger second = stranger("a");
  second.send("take");
  ASSERT_TRUE(come_to_wait("a", 1));
  Party third(client(), "a");
  auto served = third.start();
  ASSERT_TRUE(come_to_wait("a", 2));
  ZooKeeperStranger fourth = stranger("a");
  fourth.send("take");
  ASSERT_TRUE(come_to_wait("a", 3));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(second.answer(), "taken");
  EXPECT_FALSE(comes_within(served, 200ms));
  EXPECT_EQ(second.ask("free"), "freed");
  ASSERT_TRUE(comes(served));
  EXPECT_EQ(fourth.answer(200ms), "");
  EXPECT_EQ(third.release(), Released::released);
  EXPECT_EQ(fourth.answer(), "taken");
  EXPECT_EQ(fourth.ask("free"), "freed");
  expect_free("a");
}

TEST_P(ZooKeeperOthers, EightProcessesHoldOneAtATime) {
  constexpr int of_each = 4;
  constexpr int times = 100;
  const model::TemporaryDirectory directory;
  const std::string inside = directory.file("inside");
  const std::string at = url("session=20s&margin=300ms");
  std::vector<model::Process> ours;
  std::vector<ZooKeeperStranger> theirs;
  ours.reserve(of_each);
  theirs.reserve(of_each);
  for (int i = 0; i < of_each; ++i) theirs.push_back(stranger("a"));
  const std::string order = "cycle " + std::to_string(times) + " " + inside;
  for (ZooKeeperStranger& other : theirs) other.send(order);
  for (int i = 0; i < of_each; ++i) {
    ours.push_back(model::Process::fork_child([&] {
      Client mine(at);
      Lock lock = mine.make_lock("a");
      return cycle(lock, times, inside) ? 0 : 1;
    }));
  }
  for (model::Process& one : ours) {
    const auto exit = one.wait_for(60s);
    ASSERT_TRUE(exit) << "one of ours was not served";
    EXPECT_EQ(exit->code, 0) << "two held the lock";
  }
  for (ZooKeeperStranger& other : theirs) EXPECT_EQ(other.answer(), "done");
  EXPECT_EQ(std::filesystem::file_size(inside + ".count"), 2U * of_each * times);
  expect_free("a");
}

INSTANTIATE_TEST_SUITE_P(ZooKeeper, ZooKeeperOthers,
                         ::testing::Values(ZooKeeperLibrary::curator, ZooKeeperLibrary::kazoo),
                         [](const auto& one) { return std::string(test::name_of(one.param)); });

}  // namespace
}  // namespace mortise::fault
