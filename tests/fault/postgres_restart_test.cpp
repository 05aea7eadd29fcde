// SPDX-License-Identifier: MIT
// Goal: a PostgreSQL whose processes are killed costs time, and no token (S2). Method: immediate
// shutdowns, kill -9 and new starts. What else a restart may cost is in restart_test.cpp.
#include "fault/postgres_fixture.hpp"

#include <csignal>

namespace mortise::fault {
namespace {

class PostgresRestart : public PostgresTest {};

// Promise: S2
TEST_F(PostgresRestart, TokensGrowOverCrashesAndKills) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 1s});
  Token last;
  for (int round = 0; round < 4; ++round) {
    const Guard guard(lock, {.wait = patience});
    ASSERT_TRUE(guard) << guard.error_text();
    EXPECT_GT(guard.token(), last) << round;
    last = guard.token();
    round % 2 == 0 ? server().crash() : server().kill();
    server().start();
  }
}

TEST_F(PostgresRestart, ABackendThatIsKilledTakesAllSessionsAndNoLock) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 3s});
  lock.lock();
  // The server takes its shared memory for damaged: it ends everybody and recovers.
  const PostgresTalk somebody = server().talk();
  ASSERT_EQ(::kill(somebody.server_process(), SIGKILL), 0);
  const std::size_t before = record->count(Record::Kind::renewed);
  EXPECT_TRUE(record->told(Record::Kind::renewed, before + 2));
  EXPECT_EQ(lock.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
