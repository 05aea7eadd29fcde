// SPDX-License-Identifier: MIT
// Goal: what a client holds costs its server a pulse, not a request or a watch for each hold, and
// still a node that is deleted is found out; who asks for a lock by Curator's means is heard.
// Method: a server of the test's own counts packets and watches; a stranger deletes holders' nodes,
// or writes over one what Curator's `Revoker` writes.
#include "fault/zookeeper_fixture.hpp"

#include <optional>
#include <vector>

namespace mortise::fault {
namespace {

constexpr const char* revoked = "__REVOKE__";  // what Curator's `Revoker` writes
constexpr std::size_t most_watched = 32;       // of a client's holds: docs/stores/zookeeper.md

class ZooKeeperPulse : public ZooKeeperTest {
 protected:
  /// What one client holds; it grows and shrinks by the end.
  void hold(Client& user, std::size_t count) {
    while (locks_.size() > count) {
      EXPECT_EQ(locks_.back().release(), Released::released);
      locks_.pop_back();
    }
    while (locks_.size() < count) {
      locks_.push_back(user.make_lock(std::to_string(locks_.size())));
      locks_.back().lock();
    }
  }
  [[nodiscard]] Lock& held(std::size_t which) { return locks_.at(which); }
  [[nodiscard]] bool come_to_be_watched(std::size_t count) {
    return eventually(
        [&] { return server().figure("watch_count") == static_cast<std::int64_t>(count); });
  }

 private:
  std::vector<Lock> locks_;
};
class ZooKeeperRevoker : public ZooKeeperTest {};

TEST_F(ZooKeeperPulse, RenewsAHundredHoldsByAFewRequestsAndWatchesNone) {
  constexpr std::size_t holds = 100;
  constexpr std::size_t renewals = 8;
  have_own();
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  hold(mine, holds);
  const auto renewed = [&](const std::string& name) {
    std::size_t count = 0;
    for (const auto& entry : record->all(Record::Kind::renewed)) count += entry.name == name;
    return count;
  };
  ASSERT_TRUE(record->told(Record::Kind::renewed, 2 * holds));
  const std::size_t first = renewed("0");
  const std::int64_t before = server().figure("packets_received");
  ASSERT_TRUE(eventually([&] { return renewed("0") >= first + renewals; }));
  const std::int64_t packets = server().figure("packets_received") - before;
  // Of each pulse: a sync, a write, a look at a node, a sign of life; the first and the last count.
  EXPECT_LT(packets, static_cast<std::int64_t>(6 * (renewals + 2))) << "each hold has its own";
  EXPECT_EQ(server().figure("watch_count"), 0);
  hold(mine, 0);
}

TEST_F(ZooKeeperPulse, WatchesHoldsAsLongAsTheyAreFew) {
  have_own();
  Client mine = client();
  hold(mine, most_watched);
  EXPECT_TRUE(come_to_be_watched(most_watched));
  hold(mine, most_watched + 1);
  EXPECT_TRUE(come_to_be_watched(0)) << "watches stay";
  hold(mine, 3);
  EXPECT_TRUE(come_to_be_watched(3)) << "few again, and not watched";
  hold(mine, 0);
  EXPECT_TRUE(come_to_be_watched(0)) << "watches outlive their holds";
}

TEST_F(ZooKeeperPulse, FindsDeletedNodesOfManyHoldsInTurn) {
  have_own();
  Client mine(url("session=2s&margin=100ms"));
  hold(mine, most_watched + 1);
  const std::size_t third = most_watched / 3;
  for (const std::size_t which : {third, 2 * third, 3 * third}) {
    server().talk().remove(queue(std::to_string(which)).front());
  }
  const auto lost = [&](std::size_t which) { return held(which).lost().stop_requested(); };
  EXPECT_TRUE(eventually([&] { return lost(third) || lost(2 * third) || lost(3 * third); }))
      << "nobody looks";
  for (std::size_t i = 0; i <= most_watched; ++i) {
    if (i % third != 0 || i == 0) {
      EXPECT_FALSE(lost(i)) << i;
    }
  }
}

TEST_F(ZooKeeperRevoker, IsToldToTheHolderWhoKeepsLockAndLabel) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Client other = client();
  Lock lock = mine.make_lock("a", {.label = "the holder"});
  lock.lock();
  ASSERT_TRUE(record->told(Record::Kind::renewed, 1));
  ZooKeeperTalk talk = server().talk();
  const std::string node = queue("a").front();
  // More than once: the next one who asks is to be heard, too.
  for (std::size_t times = 1; times <= 3; ++times) {
    talk.set(node, revoked);
    const std::optional<Holder> meanwhile = other.make_lock("a").holder();
    ASSERT_TRUE(meanwhile);
    EXPECT_THAT(meanwhile->label, ::testing::AnyOf("", "the holder"));
    EXPECT_TRUE(record->told(Record::Kind::wanted, times));
    EXPECT_TRUE(eventually([&] { return talk.data(node) == "the holder"; })) << "the label is lost";
  }
  EXPECT_EQ(record->count(Record::Kind::wanted), 3U);
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_FALSE(other.make_lock("a").try_lock());
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
