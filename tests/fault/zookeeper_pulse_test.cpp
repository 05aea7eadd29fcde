// SPDX-License-Identifier: MIT
// Goal: what a client holds costs its server a pulse, not a request for each hold; and who asks for
// a lock by Curator's means is heard. Method: a server of the test's own counts packets and
// watches; a stranger writes over a holder's node what Curator's `Revoker` writes.
#include "fault/zookeeper_fixture.hpp"

#include <optional>
#include <vector>

namespace mortise::fault {
namespace {

constexpr const char* revoked = "__REVOKE__";  // what Curator's `Revoker` writes
constexpr std::int64_t most_watches = 32;      // of holds, of a session: docs/zookeeper.md

class ZooKeeperPulse : public ZooKeeperTest {};
class ZooKeeperRevoker : public ZooKeeperTest {};

TEST_F(ZooKeeperPulse, RenewsAHundredHoldsByAFewRequestsAndWatchesFew) {
  constexpr std::size_t holds = 100;
  constexpr std::size_t renewals = 8;
  have_own();
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  std::vector<Lock> locks;
  for (std::size_t i = 0; i < holds; ++i) {
    locks.push_back(mine.lock(std::to_string(i)));
    locks.back().lock();
  }
  const auto renewed = [&](const std::string& name) {
    std::size_t count = 0;
    for (const auto& entry : record->all(Record::Kind::renewed)) count += entry.name == name;
    return count;
  };
  // The first one watches nodes.
  ASSERT_TRUE(record->told(Record::Kind::renewed, 2 * holds));
  const std::size_t first = renewed("0");
  const std::int64_t before = server().figure("packets_received");
  ASSERT_TRUE(eventually([&] { return renewed("0") >= first + renewals; }));
  const std::int64_t packets = server().figure("packets_received") - before;
  // Of each pulse: a sync, a write, a look at a node, a sign of life; the first and the last count.
  EXPECT_LT(packets, static_cast<std::int64_t>(6 * (renewals + 2))) << "each hold has its own";
  EXPECT_LE(server().figure("watch_count"), most_watches);
  EXPECT_GT(server().figure("watch_count"), 0);
  for (Lock& lock : locks) EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(eventually([&] { return server().figure("watch_count") == 0; })) << "watches stay";
}

TEST_F(ZooKeeperRevoker, IsToldToTheHolderWhoKeepsLockAndLabel) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Client other = client();
  Lock lock = mine.lock("a", {.label = "the holder"});
  lock.lock();
  ASSERT_TRUE(record->told(Record::Kind::renewed, 1));
  ZooKeeperTalk talk = server().talk();
  const std::string node = queue("a").front();
  // More than once: the next one who asks is to be heard, too.
  for (std::size_t times = 1; times <= 3; ++times) {
    talk.set(node, revoked);
    const std::optional<Holder> meanwhile = other.lock("a").holder();
    ASSERT_TRUE(meanwhile);
    EXPECT_THAT(meanwhile->label, ::testing::AnyOf("", "the holder"));
    EXPECT_TRUE(record->told(Record::Kind::wanted, times));
    EXPECT_TRUE(eventually([&] { return talk.data(node) == "the holder"; })) << "the label is lost";
  }
  EXPECT_EQ(record->count(Record::Kind::wanted), 3U);
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_FALSE(other.lock("a").try_lock());
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
