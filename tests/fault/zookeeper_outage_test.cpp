// SPDX-License-Identifier: MIT
// Goal: a ZooKeeper that cannot be reached costs what the manual says and no more: holds last until
// their deadlines, calls keep their times. Method: a proxy that swallows, while a lock is held and
// while it is waited for.
#include "fault/zookeeper_fixture.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"

#include <optional>
#include <string>
#include <thread>

namespace mortise::fault {
namespace {

class ZooKeeperOutage : public ZooKeeperTest {};

// Promise: L8
TEST_F(ZooKeeperOutage, AShortOneCostsNoHold) {
  const auto record = std::make_shared<Record>();
  Client mine = proxied({.observer = record});
  Lock lock = mine.make_lock("a");
  lock.lock();
  for (int i = 0; i < 3; ++i) {
    proxy().cut_all();
    const std::size_t before = record->count(Record::Kind::renewed);
    EXPECT_TRUE(record->told(Record::Kind::renewed, before + 1));
  }
  proxy().blackhole(true);
  EXPECT_FALSE(happens_within([&] { return lock.lost().stop_requested(); }, session / 4));
  proxy().blackhole(false);
  const std::size_t before = record->count(Record::Kind::renewed);
  EXPECT_TRUE(record->told(Record::Kind::renewed, before + 1));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperOutage, ALongOneLosesTheHoldBeforeTheServerGivesItToAnother) {
  Client mine = proxied();
  Client other = client();
  Lock lock = mine.make_lock("a");
  lock.lock();
  const Owner holder = Owner().or_this_thread();
  Party waiter(client(), "a");
  auto left = waiter.worker().start([&] {
    waiter.lock().lock();
    return lock.valid_for(holder);
  });
  ASSERT_TRUE(come_to_wait("a"));
  proxy().blackhole(true);
  ASSERT_TRUE(comes(left, session + 2s));
  EXPECT_EQ(left.get(), 0ns) << "two held the lock";
  EXPECT_TRUE(lock.lost().stop_requested());
  proxy().blackhole(false);
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(queue("a").size(), 1U);
  EXPECT_FALSE(waiter.run([&] { return waiter.lock().lost().stop_requested(); }));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperOutage, RequestsThatArriveLateGrantNothing) {
  Client mine = proxied();
  make_parent(mine, "a");
  // Kept, as by a network that stalls; the client gives up, and comes back by another way.
  proxy().hold_requests(true);
  Lock lock = mine.make_lock("a");
  std::error_code error;
  EXPECT_FALSE(lock.try_lock_for(300ms, error));
  EXPECT_TRUE(is_retryable(error)) << error.message();
  proxy().hold_requests(false);
  expect_free("a");
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(queue("a").size(), 1U);
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

// Promise: L3
TEST_F(ZooKeeperOutage, ATimedWaitLeavesNoPlaceBehind) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Client mine = proxied();
  mine.check(patience);
  Lock wanted = mine.make_lock("a");
  for (int i = 0; i < 20; ++i) {
    std::error_code busy;  // or no answer in so little time
    EXPECT_FALSE(wanted.try_lock_for(5ms, busy)) << i;
    EXPECT_FALSE(wanted.try_lock(busy)) << i;
  }
  EXPECT_TRUE(comes_to_be("a", 1, 1s));
  // And where the reply to its leaving is lost.
  for (const auto moment : {Proxy::Moment::request, Proxy::Moment::reply}) {
    proxy().cut_at(1, moment, "DELETE");
    std::error_code error;
    EXPECT_FALSE(wanted.try_lock_for(50ms, error));
    EXPECT_TRUE(comes_to_be("a", 1, session / 2));
    proxy().heal();
  }
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

// A client gives up a connection that is silent for a third of a session. This connection has
// delivered answers that no thread has read, or the request had not left when the process stopped.
TEST_F(ZooKeeperOutage, AProcessThatStoodStillReadsTheAnswersBeforeItGivesUpAConnection) {
  Proxy way(server().port(), {.running = false, .protocol = test::ProxyProtocol::zookeeper});
  const contract::Line asks;
  const contract::Line ends;
  model::Process child = model::Process::fork_child([&] {
    Client mine("zookeeper://127.0.0.1:" + std::to_string(way.port()) + "/" +
                rest("session=6s&margin=300ms"));
    for (char word = '\0'; word != 'e';) {
      word = ends.hear(0ms);
      mine.check(patience);
      if (word != '\0') asks.tell(word);
    }
    return 0;
  });
  way.run();
  const auto answers = [&](char word) {
    ends.tell(word);
    return asks.hear(patience) == word;
  };
  ASSERT_TRUE(answers('a'));
  const std::uint64_t before = way.counts().accepted;
  for (int stops = 0; stops < 3; ++stops) {
    ASSERT_TRUE(child.stop());
    std::this_thread::sleep_for(2'400ms);
    child.resume();
    ASSERT_TRUE(answers('a'));
  }
  EXPECT_TRUE(answers('e'));
  const std::optional<model::Exit> exit = child.wait_for(patience);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 0);
  EXPECT_EQ(way.counts().accepted, before);
}

TEST_F(ZooKeeperOutage, ANameThatNobodyKnowsIsUnavailableInWords) {
  Client mine("zookeeper://nobody.invalid:2181/locks", {.give_up = 200ms});
  Lock lock = mine.make_lock("a");
  Failure failure;
  EXPECT_LT(
      duration_of([&] { failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms)); }); }),
      300ms + allowance + slack);
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("nobody.invalid"));
}

TEST_F(ZooKeeperOutage, AnAnswerToSomethingElseCostsAConnectionAndNoLock) {
  Client mine = proxied();
  make_parent(mine, "a");
  Lock held = mine.make_lock("held");
  held.lock();
  // 16 bytes that answer request 2^31 - 1: the C client takes that for the end of all order.
  const std::string to_nobody("\0\0\0\x10\x7f\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0", 20);
  proxy().garbage(to_nobody, Proxy::Replies::scripts);
  Lock lock = mine.make_lock("a");
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(queue("a").size(), 1U);
  EXPECT_FALSE(held.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(held.release(), Released::released);
  expect_free("a");
  expect_free("held");
}

}  // namespace
}  // namespace mortise::fault
