// SPDX-License-Identifier: MIT
// Goal: an inbox that the server cuts, clients that it pauses or keeps waiting cost time and never
// a lock (L3, L7). Method: CLIENT KILL, CLIENT PAUSE, and a script without end.
#include "fault/redis_fixture.hpp"

namespace mortise::fault {
namespace {

class RedisConnections : public RedisTest {};

TEST_F(RedisConnections, AWaiterWhoseInboxIsKilledIsServedByTheNextOne) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party waiter(client(), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  RedisTalk talk = server().talk();
  talk.expect_ok({"CLIENT", "KILL", "TYPE", "pubsub"});
  // At once, or after a fallback period where it was without an inbox at that moment.
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes(served, 1s + slack));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

// Promise: L8
TEST_F(RedisConnections, AHoldOutlivesAPauseOfTheServer) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 6s});
  lock.lock();
  server().talk().expect_ok({"CLIENT", "PAUSE", "1500", "ALL"});
  // The first renewal was due at 2 s, and a command time-out is 1 s: nothing is lost.
  EXPECT_TRUE(record->told(Record::Kind::renewed, 1));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_GT(lock.valid_for(), 4s);
  EXPECT_EQ(lock.release(), Released::released);
}

// Promise: L3
TEST_F(RedisConnections, ATimedCallKeepsItsTimeInAPauseAndLeavesNothing) {
  Client mine = client();
  mine.check(patience);
  Lock lock = mine.make_lock("a", {.lease = 6s});
  server().talk().expect_ok({"CLIENT", "PAUSE", "1500", "ALL"});
  std::error_code error;
  EXPECT_LT(own_duration_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms, error)); }),
            300ms + allowance + slack);
  EXPECT_EQ(error, Errc::in_doubt) << error.message();
  // It is undone behind the caller, long before its lease ends.
  EXPECT_TRUE(taken_within(lock, 4s));
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

TEST_F(RedisConnections, ABusyScriptIsUnavailableInItsWordsAndItPasses) {
  server().talk().expect_ok({"CONFIG", "SET", "lua-time-limit", "50"});
  Client mine = client();
  mine.check(patience);
  Lock lock = mine.make_lock("a", {.lease = 6s});
  RedisTalk runs = server().talk();
  runs.send({"EVAL", "while true do end", "0"});
  Failure failure;
  EXPECT_TRUE(eventually([&] {
    EXPECT_LT(own_duration_of(
                  [&] { failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(300ms)); }); }),
              300ms + allowance + slack);
    return failure.code == Errc::unavailable && failure.text.find("BUSY") != std::string::npos;
  })) << failure.text;
  // Nothing but these is let through: the connection of an administrator has to stand already.
  RedisTalk ends(server().port());
  EXPECT_FALSE(ends.command({"SCRIPT", "KILL"}).is_error());
  EXPECT_TRUE(taken_within(lock, 4s));
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
