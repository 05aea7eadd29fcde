// SPDX-License-Identifier: MIT
// Goal: readers and writers stand in one queue, whoever has made their nodes, and an owner that
// goes on as a reader leaves no gap, whatever happens to its requests. Method: nodes by a
// stranger's hand, connections that are cut at one request, clients with other names for nodes.
#include "fault/zookeeper_fixture.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

constexpr const char* all_namings[] = {"mutex", "readwrite", "kazoo"};
const LockOptions zookeeper_reading{.lease = 60s, .mode = Mode::shared};
const LockOptions zookeeper_writing{.lease = 60s};

class ZooKeeperReaders : public ZooKeeperTest {
 protected:
  [[nodiscard]] Client named(const std::string& naming) {
    return Client(url(std::string(in_short) + "&interop=" + naming));
  }
  void make(const std::string& name, const std::string& child, const std::string& data = {}) {
    ZooKeeperTalk talk = server().talk();
    talk.create_all(path(name));
    talk.create(path(name) + "/" + child, ZooKeeperKind::persistent, data);
  }
};

TEST_F(ZooKeeperReaders, OfAllNamingsShareOneQueue) {
  for (const char* const one : all_namings) {
    for (const char* const other : all_namings) {
      Client here = named(one);
      Client there = named(other);
      ReadWriteLock mine = here.make_read_write_lock("a", {.lease = 60s});
      ReadWriteLock theirs = there.make_read_write_lock("a", {.lease = 60s});
      mine.lock_shared();
      EXPECT_TRUE(theirs.try_lock_shared_for(patience)) << one << " and " << other;
      theirs.unlock_shared();
      EXPECT_FALSE(theirs.try_lock()) << one << " and " << other;
      mine.unlock_shared();
      ASSERT_TRUE(mine.try_lock_for(patience));
      EXPECT_FALSE(theirs.try_lock_shared()) << one << " and " << other;
      EXPECT_FALSE(theirs.try_lock()) << one << " and " << other;
      mine.unlock();
      expect_free("a");
    }
  }
}

TEST_F(ZooKeeperReaders, AreToldToAdministrators) {
  Client mine = named("readwrite");
  Client other = named("readwrite");
  make("a", "_c_3a0e3b0c-7f3a-4f0e-9b0f-0123456789ab-__READ__0000000000", "Curator's");
  Lock reader = mine.make_lock("a", {.lease = 60s, .label = "ours", .mode = Mode::shared});
  ASSERT_TRUE(reader.try_lock_for(patience));
  Party writer(named("readwrite"), "a");
  auto written = writer.start();
  ASSERT_TRUE(come_to_wait("a", 2));
  make("a", "0123456789abcdef0123456789abcdef__rlock__0000000009", "kazoo's");
  const NameQueue queue = other.queue("a");
  ASSERT_EQ(queue.holders.size(), 2U);
  EXPECT_EQ(queue.holders[0].label, "Curator's");
  EXPECT_EQ(queue.holders[1].label, "ours");
  EXPECT_EQ(queue.holders[1].token, reader.token());
  for (const HolderEntry& each : queue.holders) EXPECT_EQ(each.mode, Mode::shared);
  ASSERT_EQ(queue.waiters.size(), 2U);
  EXPECT_EQ(queue.waiters[0].mode, Mode::exclusive);
  EXPECT_EQ(queue.waiters[1].mode, Mode::shared);
  EXPECT_EQ(queue.waiters[1].label, "kazoo's");
  EXPECT_EQ(queue.waiters_in_all, 2U);
  const NameQueue first = other.queue("a", {.limit = 1, .wait = patience});
  EXPECT_EQ(first.holders.size(), 1U);
  EXPECT_EQ(first.waiters.size(), 1U);
  EXPECT_EQ(first.waiters.front().mode, Mode::exclusive);
  EXPECT_EQ(first.waiters_in_all, 2U);
  EXPECT_EQ(other.list("").names, std::vector<std::string>{"a"});
  // One of them, and then all that are left.
  const auto ended = other.force_release("a", {.of = reader.token(), .wait = patience});
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().label, "ours");
  EXPECT_EQ(ended.front().mode, Mode::shared);
  EXPECT_FALSE(comes_within(written, 100ms)) << "another one reads";
  EXPECT_EQ(other.force_release("a", {.wait = patience}).front().label, "Curator's");
  EXPECT_TRUE(comes(written));
  EXPECT_EQ(writer.release(), Released::released);
  EXPECT_EQ(other.force_release("a", {.wait = patience}).front().label, "kazoo's");
  EXPECT_EQ(reader.release(), Released::was_lost);
}

// A hold of each, in each naming, whose waiter comes before the owner reads on, or behind that.
TEST_F(ZooKeeperReaders, AnOwnerThatReadsOnLeavesNoGap) {
  for (const char* const naming : all_namings) {
    for (const bool before : {true, false}) {
      Client mine = named(naming);
      ReadWriteLock lock = mine.make_read_write_lock("a", {.lease = 60s});
      lock.lock();
      Party writer(client(), "a");
      std::future<Token> written;
      if (before) {
        written = writer.start();
        ASSERT_TRUE(come_to_wait("a"));
      }
      lock.lock_shared();
      if (!before) {
        written = writer.start();
        ASSERT_TRUE(come_to_wait("a", 2));
      }
      const Token owned = lock.writer().token();
      EXPECT_GE(lock.reader().token(), owned);
      const Token read = lock.reader().token();
      EXPECT_EQ(mine.queue("a").holders.size(), 2U);
      EXPECT_EQ(mine.queue("a").holders.back().token, read);
      EXPECT_EQ(lock.writer().release(), Released::released);
      EXPECT_FALSE(comes_within(written, 200ms)) << naming << ": it is read still";
      ASSERT_EQ(mine.queue("a").holders.size(), 1U);
      EXPECT_EQ(mine.queue("a").holders.front().token, read) << "as its own handle says";
      EXPECT_EQ(lock.reader().release(), Released::released);
      ASSERT_TRUE(comes(written));
      EXPECT_GT(written.get(), read) << naming << ": its node is older than the reader's";
      EXPECT_EQ(writer.release(), Released::released);
      expect_free("a");
    }
  }
}

// Behind an owner whose end alone was to be waited for. It is away while the owner reads on and
// ends its own hold, and is told of the last of that alone when it is back.
// Promise: S1
TEST_F(ZooKeeperReaders, WhoWasAwayAsItsOwnerReadOnHasNotTheLockWithThatOnesEnd) {
  Client mine = client();
  ReadWriteLock lock = mine.make_read_write_lock("a", {.lease = 60s});
  lock.lock();
  const auto watched = [&] { return server().figure("watch_count"); };
  const std::int64_t before = watched();
  Party writer(proxied(), "a");
  auto written = writer.start();
  ASSERT_TRUE(come_to_wait("a"));
  ASSERT_TRUE(eventually([&] { return watched() > before; }));
  proxy().refuse(true);
  ASSERT_GT(proxy().cut_all(), 0U);
  lock.lock_shared();
  EXPECT_EQ(lock.writer().release(), Released::released);
  proxy().refuse(false);
  EXPECT_FALSE(comes_within(written, session)) << "it is read still";
  EXPECT_EQ(lock.reader().release(), Released::released);
  ASSERT_TRUE(comes(written));
  EXPECT_EQ(writer.release(), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperReaders, AnOwnersTokenIsNotSmallerAfterHandOvers) {
  Client mine = client({.turn = 10s});
  ReadWriteLock lock = mine.make_read_write_lock("a", {.lease = 60s});
  lock.lock();
  const Owner next = Owner::unique();
  Worker worker;
  auto served = worker.start([&] {
    const bool got = lock.writer().acquire({.wait = patience, .owner = next});
    return got && lock.reader().acquire({.wait = patience, .owner = next});
  });
  ASSERT_TRUE(worker.falls_asleep());
  const Token first = lock.writer().token();
  lock.unlock();
  ASSERT_TRUE(served.get());
  EXPECT_GT(lock.writer().token(next), first);
  EXPECT_GE(lock.reader().token(next), lock.writer().token(next));
  EXPECT_EQ(lock.writer().release(next), Released::released);
  EXPECT_EQ(lock.reader().release(next), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperReaders, ALostAnswerToAnOwnerThatReadsOnIsSettled) {
  for (const Proxy::Moment moment : {Proxy::Moment::request, Proxy::Moment::reply}) {
    Client mine = proxied();
    ReadWriteLock lock = mine.make_read_write_lock("a", {.lease = 60s});
    ASSERT_TRUE(lock.try_lock_for(patience));
    proxy().cut_at(1, moment, "MULTI");
    ASSERT_TRUE(lock.try_lock_shared_for(patience));
    EXPECT_FALSE(proxy().cut_is_ahead());
    EXPECT_GE(lock.reader().token(), lock.writer().token());
    EXPECT_EQ(queue("a").size(), 2U);
    EXPECT_EQ(lock.writer().release(), Released::released);
    Client other = client();
    EXPECT_FALSE(other.make_lock("a", zookeeper_writing).try_lock());
    EXPECT_EQ(lock.reader().release(), Released::released);
    expect_free("a");
  }
}

// By a name of its own, and not by the one that it was to have beside its owner, whose token is in
// that. Somebody else has the lock in between.
// Promise: S2
TEST_F(ZooKeeperReaders, WhoWasRefusedBesideAnOwnerThatLetsGoQueuesAsAnyOther) {
  constexpr std::int32_t throttled = -127;
  Client mine(proxied_url("session=10s&margin=300ms"));
  ReadWriteLock lock = mine.make_read_write_lock("a", {.lease = 60s});
  const Owner owner = Owner::unique();
  ASSERT_TRUE(lock.writer().acquire({.wait = patience, .owner = owner}));
  Party writer(client(), "a");
  auto written = writer.start();
  ASSERT_TRUE(come_to_wait("a"));
  proxy().answer_with_error("MULTI", throttled);
  Worker worker;
  const auto read =
      worker.start([&] { EXPECT_TRUE(lock.reader().acquire({.wait = patience, .owner = owner})); });
  ASSERT_TRUE(eventually([&] { return proxy().counts().refusals > 0; }));
  proxy().cut_at(1, Proxy::Moment::reply, "CREATE2");
  EXPECT_EQ(lock.writer().release(owner), Released::released);
  ASSERT_TRUE(comes(written));
  ASSERT_TRUE(eventually([&] { return !proxy().cut_is_ahead(); }));
  EXPECT_EQ(writer.release(), Released::released);
  ASSERT_TRUE(comes(read));
  EXPECT_GT(lock.reader().token(owner), written.get());
  const NameQueue queue = mine.queue("a");
  ASSERT_EQ(queue.holders.size(), 1U);
  EXPECT_EQ(queue.holders.front().token, lock.reader().token(owner));
  EXPECT_EQ(lock.reader().release(owner), Released::released);
  expect_free("a");
}

TEST_F(ZooKeeperReaders, WhoseOwnersNodeWasDeletedQueueAsAnyOther) {
  Client mine = client();
  ReadWriteLock lock = mine.make_read_write_lock("a", {.lease = 60s});
  lock.lock();
  Client other = client();
  Lock writer = other.make_lock("a", zookeeper_writing);
  server().talk().remove(queue("a").front());
  ASSERT_TRUE(writer.try_lock_for(patience));
  std::error_code ec;
  EXPECT_FALSE(lock.try_lock_shared_for(100ms, ec)) << "somebody else has it";
  EXPECT_EQ(writer.release(), Released::released);
  static_cast<void>(lock.writer().release());
  expect_free("a");
}

TEST_F(ZooKeeperReaders, StrangersThatDoNotSeeOursAreRefused) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"mutex", "_c_3a0e3b0c-7f3a-4f0e-9b0f-0123456789ab-__WRIT__0000000000"},
      {"mutex", "_c_3a0e3b0c-7f3a-4f0e-9b0f-0123456789ab-__READ__0000000000"},
      {"readwrite", "_c_3a0e3b0c-7f3a-4f0e-9b0f-0123456789ab-lock-0000000000"},
      {"kazoo", "_c_3a0e3b0c-7f3a-4f0e-9b0f-0123456789ab-lock-0000000000"}};
  int n = 0;
  for (const auto& [naming, node] : cases) {
    const std::string name = "n" + std::to_string(n++);
    make(name, node);
    Client mine = named(naming);
    for (const LockOptions& options : {zookeeper_reading, zookeeper_writing}) {
      std::error_code ec;
      EXPECT_FALSE(mine.make_lock(name, options).try_lock_for(patience, ec)) << naming;
      EXPECT_EQ(ec, Errc::protocol) << naming;
    }
    EXPECT_TRUE(comes_to_be(name, 1)) << "nothing of ours is left";
  }
}

}  // namespace
}  // namespace mortise::fault
