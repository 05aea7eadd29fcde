// SPDX-License-Identifier: MIT
// Goal: a list tells the locks that are held, whatever library holds them, and nothing else that
// lies below the path; a queue tells the stranger's label, too. Method: nodes by a stranger's hand,
// names that are too long for a path, a connection that is cut in the middle of it.
#include "fault/zookeeper_fixture.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

namespace mortise::fault {
namespace {

using Names = std::vector<std::string>;

class ZooKeeperListings : public ZooKeeperTest {};

TEST_F(ZooKeeperListings, TellStrangersHoldsAndNoOtherNodes) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  ZooKeeperTalk talk = server().talk();
  const auto node = [&](const std::string& name, const std::string& child) {
    talk.create_all("/" + root() + "/" + name);
    if (!child.empty()) talk.create("/" + root() + "/" + name + "/" + child);
  };
  node("curator", "_c_3a0e3b0c-7f3a-4f0e-9b0f-0123456789ab-lock-0000000000");
  node("kazoo", "0123456789abcdef__lock__0000000000");
  node("empty", "");
  node("config", "something");
  node("readers", "_c_x-__READ__0000000000");
  node("not%2fescaped", "x-lock-0000000000");
  node("not escaped", "x-lock-0000000000");
  node("%zz", "x-lock-0000000000");
  node("%once2", "x-lock-0000000000");
  NamePage page = mine.list("");
  std::sort(page.names.begin(), page.names.end());
  EXPECT_EQ(page.names, (Names{"a", "curator", "kazoo", "readers"}));
  EXPECT_EQ(page.too_long, 0U);
  EXPECT_EQ(page.cursor, "");
  EXPECT_EQ(mine.queue("curator").holders.size(), 1U);
  lock.unlock();
}

TEST_F(ZooKeeperListings, TellNamesThatAreTooLongForAPath) {
  Client mine = client();
  const std::string longest(100, 'x');
  const std::string longer(101, 'x');
  const std::string escaped(34, '/');
  std::deque<Lock> locks;
  for (const std::string& name : {longest, longer, escaped}) {
    locks.push_back(mine.make_lock(name));
    ASSERT_TRUE(locks.back().try_lock_for(patience));
  }
  NamePage page = mine.list("x");
  std::sort(page.names.begin(), page.names.end());
  EXPECT_EQ(page.names, (Names{longest, longer}));
  EXPECT_EQ(page.too_long, 0U);
  EXPECT_EQ(mine.queue(longer).holders.size(), 1U);
  EXPECT_EQ(mine.force_release(escaped).size(), 1U);
  for (Lock& lock : locks) lock.unlock();
}

TEST_F(ZooKeeperListings, BeginAnewWhereTheirConnectionBreaks) {
  Client holder = client();
  std::deque<Lock> locks;
  for (int i = 0; i < 50; ++i) {
    locks.push_back(holder.make_lock("n" + std::to_string(i)));
    ASSERT_TRUE(locks.back().try_lock_for(patience));
  }
  Client mine = proxied();
  for (const std::size_t at : {1U, 2U, 20U}) {
    proxy().cut_at(at, Proxy::Moment::reply, "GETCHILDREN");
    const NamePage page = mine.list("", {.limit = 100, .wait = patience});
    EXPECT_FALSE(proxy().cut_is_ahead()) << at;
    EXPECT_EQ(page.names.size(), 50U) << at;
    EXPECT_EQ(page.cursor, "");
  }
  for (Lock& lock : locks) lock.unlock();
}

TEST_F(ZooKeeperListings, TellTheAgeByTheNode) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.label = "me"});
  ASSERT_TRUE(lock.try_lock_for(patience));
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  const NameQueue queue = mine.queue("a");
  ASSERT_EQ(queue.holders.size(), 1U);
  EXPECT_EQ(queue.holders[0].label, "me");
  EXPECT_EQ(queue.holders[0].token, lock.token());
  EXPECT_LT(queue.holders[0].age, patience);
  ASSERT_EQ(queue.waiters.size(), 1U);
  EXPECT_LE(queue.waiters[0].age, queue.holders[0].age);
  lock.unlock();
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
