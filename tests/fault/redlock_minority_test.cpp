// SPDX-License-Identifier: MIT
// Goal: a minority of the servers that is down, silent, slow, or answers rubbish, errors or in
// another role costs its votes and nothing else. Method: two of five suffer it, before a lock is
// taken and while it is held.
#include "fault/redlock_fixture.hpp"

#include <functional>

namespace mortise::fault {
namespace {

constexpr std::chrono::milliseconds lease{1200};
// A cycle takes well under a millisecond; the time after which a server is given up is a sixth of
// the lease, and the wait for two of them is more.
constexpr std::chrono::milliseconds prompt{80};

class RedlockMinority : public RedlockTest {
 protected:
  /// A lock works as if there were nothing: at once, renewed, exclusive, and given back.
  void expect_all_is_well(Client& mine) {
    Client other = client();
    Lock lock = mine.make_lock("a", {.lease = lease});
    Lock theirs = other.make_lock("a");
    const auto took = best_of(20, prompt, [&] {
      return own_duration_of([&] {
        lock.lock();
        lock.unlock();
      });
    });
    EXPECT_LT(took, prompt) << "a server that is missing is waited for";
    lock.lock();
    const Token token = lock.token();
    const std::chrono::nanoseconds left = lock.valid_for();
    EXPECT_FALSE(theirs.try_lock());
    // Over more than a lease.
    EXPECT_FALSE(happens_within([&] { return lock.lost().stop_requested(); }, lease * 4 / 3));
    EXPECT_GT(lock.valid_for(), left / 3);
    EXPECT_EQ(lock.token(), token);
    EXPECT_FALSE(theirs.try_lock());
    EXPECT_EQ(lock.release(), Released::released);
    ASSERT_TRUE(theirs.try_lock_for(patience));
    EXPECT_GT(theirs.token(), token);
    EXPECT_EQ(theirs.release(), Released::released);
  }
  void expect_no_loss_while(const std::function<void()>& happens) {
    const auto record = std::make_shared<Record>();
    Client mine = ready_client({.observer = record});
    Lock lock = mine.make_lock("a", {.lease = lease});
    lock.lock();
    happens();
    const std::size_t before = record->count(Record::Kind::renewed);
    EXPECT_TRUE(record->told(Record::Kind::renewed, before + 4));
    EXPECT_FALSE(lock.lost().stop_requested());
    EXPECT_GT(lock.valid_for(), 0ns);
    EXPECT_EQ(record->count(Record::Kind::lost), 0U);
    EXPECT_EQ(lock.release(), Released::released);
    expect_free("a");
  }
};

TEST_F(RedlockMinority, ThatIsDownFromTheBeginningCostsNothing) {
  static_cast<void>(servers());
  kill(0);
  kill(3);
  Client mine = client();
  expect_all_is_well(mine);
  expect_free("a");
}

TEST_F(RedlockMinority, ThatStandsStillCostsNothing) {
  Client mine = ready_client();
  stop(1);
  stop(4);
  expect_all_is_well(mine);
  resume(1);
  resume(4);
  // What it was asked meanwhile leaves nothing either.
  expect_free("a", patience);
}

TEST_F(RedlockMinority, ThatDiesWhileALockIsHeldCostsNoHold) {
  expect_no_loss_while([this] {
    kill(2);
    kill(0);
  });
}

TEST_F(RedlockMinority, ThatStandsStillWhileALockIsHeldCostsNoHold) {
  expect_no_loss_while([this] {
    stop(2);
    stop(0);
  });
}

TEST_F(RedlockMinority, ThatIsCutOffWhileALockIsHeldCostsNoHold) {
  proxied();
  expect_no_loss_while([this] {
    servers().proxy(1).blackhole(true);
    servers().proxy(2).refuse(true);
    servers().proxy(2).cut_all();
  });
}

TEST_F(RedlockMinority, ThatIsSlowCostsNothingAndKeepsNothing) {
  proxied();
  Client mine = ready_client();
  servers().proxy(0).delay(150ms, 200ms);
  servers().proxy(1).delay(150ms, 200ms);
  expect_all_is_well(mine);
  expect_free("a");
}

TEST_F(RedlockMinority, ThatDripsItsAnswersCostsNothing) {
  proxied();
  Client mine = ready_client();
  servers().proxy(3).drip(50ms);
  servers().proxy(4).drip(50ms);
  expect_all_is_well(mine);
  expect_free("a");
}

TEST_F(RedlockMinority, ThatAnswersRubbishIsNotBelieved) {
  proxied();
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = lease});
  Token last;
  for (const char* const bytes :
       {"+OK\r\n", "$5\r\nhello\r\n", "*2147483647\r\n", "$1000000000\r\n", "-ERR x\r\n", ":1\r\n",
        "$-1\r\n", "*0\r\n", "$0\r\n\r\n", "-\r\n", ":99999999999999999999\r\n", "$3\r\nG 1\r\n",
        "$22\r\nG 99999999999999999999\r\n", "$18\r\nG 9007199254740993\r\n", "$3\r\nG 0\r\n"}) {
    for (const std::size_t i : {1U, 3U}) {
      servers().proxy(i).garbage(bytes, Proxy::Replies::scripts);
    }
    ASSERT_TRUE(lock.try_lock_for(patience)) << bytes;
    EXPECT_GE(holds("a"), 3U) << bytes;
    EXPECT_GT(lock.token(), last) << bytes;
    last = lock.token();
    EXPECT_EQ(lock.release(), Released::released) << bytes;
    expect_free("a");
    for (const std::size_t i : {1U, 3U}) servers().proxy(i).heal();
  }
}

TEST_F(RedlockMinority, ThatRefusesTheUserCostsNothing) {
  static_cast<void>(servers());
  servers()[0].talk().expect_ok({"CONFIG", "SET", "requirepass", "open-sesame"});
  servers()[1].talk().expect_ok({"CONFIG", "SET", "requirepass", "open-sesame"});
  Client mine = client();
  expect_all_is_well(mine);
}

TEST_F(RedlockMinority, OfReplicasCostsNothing) {
  static_cast<void>(servers());
  for (const std::size_t i : {2U, 3U}) {
    servers()[i].talk().expect_ok({"REPLICAOF", "127.0.0.1", "1"});
  }
  Client mine = client();
  expect_all_is_well(mine);
}

TEST_F(RedlockMinority, ThatBecomesReplicasWhileALockIsHeldCostsNoHold) {
  expect_no_loss_while([this] {
    for (const std::size_t i : {2U, 3U}) {
      servers()[i].talk().expect_ok({"REPLICAOF", "127.0.0.1", "1"});
      servers()[i].talk().expect_ok({"REPLICAOF", "NO", "ONE"});
    }
  });
}

TEST_F(RedlockMinority, WithSomethingElseInTheKeyCostsNothingAndIsLeftAlone) {
  Client mine = ready_client();
  for (const std::size_t i : {0U, 4U}) {
    servers()[i].talk().expect_ok({"SET", key("a"), "mine"});
  }
  Lock lock = mine.make_lock("a", {.lease = lease});
  lock.lock();
  EXPECT_EQ(lock.release(), Released::released);
  for (const std::size_t i : {0U, 4U}) {
    EXPECT_EQ(servers()[i].talk().command({"GET", key("a")}).text, "mine");
  }
}

TEST_F(RedlockMinority, WithoutMemoryCostsNothing) {
  Client mine = ready_client();
  for (const std::size_t i : {0U, 4U}) {
    servers()[i].talk().expect_ok({"CONFIG", "SET", "maxmemory", "1"});
  }
  expect_all_is_well(mine);
}

// There is no once more for the last word of a client that closes.
TEST_F(RedlockMinority, WhoseScriptsAreFlushedIsToldByAClientThatCloses) {
  static_cast<void>(servers(3));
  for (int cycle = 0; cycle < 10; ++cycle) {
    {
      Client mine = ready_client();
      Lock lock = mine.make_lock("a", {.lease = 20s});
      lock.lock();
      ASSERT_TRUE(eventually([&] { return holds("a") == 3; }));
      servers()[2].talk().expect_ok({"SCRIPT", "FLUSH"});
      EXPECT_EQ(lock.release(), Released::released);
    }
    expect_free("a", 1s);
  }
}

// What its last answers have it told once more, many at a time, leaves all the same.
TEST_F(RedlockMinority, WhoseScriptsAreFlushedIsToldOfManyHoldsByAClientThatCloses) {
  static_cast<void>(servers(3));
  proxied();
  constexpr std::size_t many = 100;
  const auto name = [](std::size_t i) { return "a" + std::to_string(i); };
  {
    Client mine = ready_client();
    std::vector<Lock> locks;
    for (std::size_t i = 0; i < many; ++i) {
      locks.push_back(mine.make_lock(name(i), {.lease = 6s}));
      locks.back().lock();
    }
    for (std::size_t i = 0; i < many; ++i) {
      ASSERT_TRUE(eventually([&] { return holds(name(i)) == 3; }));
    }
    servers()[2].talk().expect_ok({"SCRIPT", "FLUSH"});
    servers().proxy(2).delay(200ms, 200ms);
    for (Lock& lock : locks) EXPECT_EQ(lock.release(), Released::released);
  }
  for (std::size_t i = 0; i < many; ++i) expect_free(name(i), 1s);
}

// Something between us and the server, or its administrator, may refuse with any words.
TEST_F(RedlockMinority, ThatDidNotExecuteTheReleaseIsToldOnceMore) {
  static_cast<void>(servers(3));
  proxied();
  Client mine = ready_client();
  for (const bool rubbish : {false, true}) {
    Lock lock = mine.make_lock("a", {.lease = 20s});
    lock.lock();
    ASSERT_TRUE(eventually([&] { return holds("a") == 3; }));
    RedisTalk talk = servers()[2].talk();
    talk.expect_ok({"CONFIG", "RESETSTAT"});
    talk.expect_ok({"ACL", "SETUSER", "default", "-evalsha", "-eval"});
    if (rubbish) servers().proxy(2).garbage("$5\r\nhello\r\n", Proxy::Replies::scripts);
    EXPECT_EQ(lock.release(), Released::released);
    EXPECT_TRUE(eventually([&] {
      return talk.command({"INFO", "errorstats"}).text.find("NOPERM") != std::string::npos;
    }));
    talk.expect_ok({"ACL", "SETUSER", "default", "+@all"});
    expect_free("a", 5s);
  }
}

TEST_F(RedlockMinority, WhoseScriptsAreFlushedIsTaughtAgain) {
  Client mine = ready_client();
  for (int cycle = 0; cycle < 20; ++cycle) {
    for (std::size_t i = 0; i < servers().size(); ++i) {
      servers()[i].talk().expect_ok({"SCRIPT", "FLUSH"});
    }
    Lock lock = mine.make_lock("a", {.lease = lease});
    ASSERT_TRUE(taken_within(lock, 2s)) << cycle;
    EXPECT_TRUE(eventually([&] { return holds("a") == servers().size(); }, 2s)) << cycle;
    for (std::size_t i = 0; i < servers().size(); ++i) {
      servers()[i].talk().expect_ok({"SCRIPT", "FLUSH"});
    }
    EXPECT_EQ(lock.release(), Released::released) << cycle;
  }
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
