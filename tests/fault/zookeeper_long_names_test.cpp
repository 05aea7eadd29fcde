// SPDX-License-Identifier: MIT
// Goal: a name that is too long for a path is called by its digest there, and never mistaken for
// another name with that digest. Method: a stranger puts another name, or none, into the node of
// the digest, as somebody could who has found two names with one.
#include "fault/zookeeper_fixture.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace mortise::fault {
namespace {

const std::string long_name(101, 'n');
const std::string other_name = std::string(100, 'n') + "m";

class ZooKeeperLongNames : public ZooKeeperTest {
 protected:
  /// The node of the name holds what a stranger wrote.
  void occupy(const std::string& node, const std::string& data) {
    ZooKeeperTalk talk = server().talk();
    talk.create_all(node);
    talk.set(node, data);
  }
  void expect_protocol(const std::string& call, const Failure& failure) {
    EXPECT_EQ(failure.code, Errc::protocol) << call << ": " << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("does not contain the requested name")) << call;
  }
  void expect_no_lock(const LockOptions& options = {}) {
    Client mine = client();
    Lock lock = mine.make_lock(long_name, options);
    expect_protocol("lock", failure_of([&] { lock.lock(); }));
    expect_protocol("try_lock", failure_of([&] { static_cast<void>(lock.try_lock()); }));
  }
};

TEST_F(ZooKeeperLongNames, AreKeptInTheirNodesAndListed) {
  Client mine = client();
  Lock lock = mine.make_lock(long_name);
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(server().talk().data(path(long_name)), long_name);
  EXPECT_EQ(mine.list("nn").names, std::vector{long_name});
  EXPECT_EQ(mine.list("nm").names.size(), 0U) << "another prefix";
  EXPECT_EQ(mine.queue(long_name).holders.size(), 1U);
  EXPECT_FALSE(client().make_lock(long_name).try_lock());
  Lock other = mine.make_lock(other_name);
  EXPECT_TRUE(other.try_lock_for(patience)) << "it is a name of its own";
  other.unlock();
  EXPECT_EQ(mine.force_release(long_name).size(), 1U);
}

TEST_F(ZooKeeperLongNames, OfAnotherNamesNodeAreNotGranted) {
  occupy(path(long_name), other_name);
  expect_no_lock();
  expect_no_lock({.mode = Mode::shared});
  EXPECT_TRUE(queue(long_name).empty()) << "what was made there has gone again";
}

TEST_F(ZooKeeperLongNames, OfANodeThatHoldsNoNameAreNotGranted) {
  occupy(path(long_name), "");
  expect_no_lock();
}

TEST_F(ZooKeeperLongNames, OfAnotherNamesNodeAreNotBusyEither) {
  Client mine = client();
  Lock held = mine.make_lock(long_name);
  ASSERT_TRUE(held.try_lock_for(patience));
  Client asking = client();
  Lock wanted = asking.make_lock(long_name);
  EXPECT_FALSE(wanted.try_lock_for(0ns)) << "its client has seen it held";
  server().talk().set(path(long_name), other_name);
  expect_protocol("a look", failure_of([&] { static_cast<void>(wanted.try_lock()); }));
}

TEST_F(ZooKeeperLongNames, OfAnotherSemaphoresNodeHaveNoPermits) {
  const std::string lock = path(long_name);
  occupy(lock.substr(0, lock.rfind('/')) + "/%permits" + lock.substr(lock.rfind('/')), other_name);
  Client mine = client();
  Semaphore semaphore = mine.make_semaphore(long_name, 2);
  expect_protocol("acquire", failure_of([&] { static_cast<void>(semaphore.acquire()); }));
  expect_protocol("queue", failure_of([&] {
                    static_cast<void>(mine.queue(long_name, {.mode = Mode::permit}));
                  }));
  EXPECT_TRUE(mine.queue(long_name).holders.empty()) << "the lock has another node";
}

TEST_F(ZooKeeperLongNames, OfAnotherNamesNodeAreNotLookedAtOrEnded) {
  Client theirs = client();
  Lock held = theirs.make_lock(long_name);
  ASSERT_TRUE(held.try_lock_for(patience));
  server().talk().set(path(long_name), other_name);
  Client mine = client();
  expect_protocol("queue", failure_of([&] { static_cast<void>(mine.queue(long_name)); }));
  expect_protocol("holder",
                  failure_of([&] { static_cast<void>(mine.make_lock(long_name).holder()); }));
  expect_protocol("force", failure_of([&] { static_cast<void>(mine.force_release(long_name)); }));
  EXPECT_EQ(queue(long_name).size(), 1U) << "its hold is still there";
  const NamePage page = mine.list("");
  EXPECT_TRUE(page.names.empty());
  EXPECT_EQ(page.too_long, 1U) << "held, and by a name that the node does not tell";
}

TEST_F(ZooKeeperLongNames, OfAKeyAreNotAnsweredWithAnothersRecord) {
  Client mine = client();
  Once once = mine.make_once(long_name);
  EXPECT_EQ(once.run([] { return std::string("mine"); }).result(), "mine");
  EXPECT_EQ(client().make_once(long_name).look().result(), "mine");
  // What another key has kept, in the place of ours.
  Client theirs = client();
  EXPECT_EQ(theirs.make_once(other_name).run([] { return std::string("theirs"); }).result(),
            "theirs");
  ZooKeeperTalk talk = server().talk();
  talk.set(locks().kept(long_name), talk.data(locks().kept(other_name)));
  const auto expect_refused = [](const Failure& failure) {
    EXPECT_EQ(failure.code, Errc::protocol) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("belongs to another key"));
  };
  expect_refused(failure_of([&] { once.run([] { return std::string("again"); }); }));
  expect_refused(failure_of([&] { static_cast<void>(once.look()); }));
  expect_refused(failure_of([&] { static_cast<void>(once.forget()); }));
}

}  // namespace
}  // namespace mortise::fault
