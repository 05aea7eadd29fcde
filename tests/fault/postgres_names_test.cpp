// SPDX-License-Identifier: MIT
// Goal: a name costs the same whatever has become of its row: however often it was granted, and
// also where somebody has deleted it. Method: a connection that is older than every row, and what
// the server has counted.
#include "fault/postgres_fixture.hpp"

#include <string>

namespace mortise::fault {
namespace {

using PostgresNames = PostgresTest;

// A connection plans its statements once. The table is empty then, so that every index looks as
// good as any other.
TEST_F(PostgresNames, ALookForANameDoesNotPassByItsOlderGrants) {
  constexpr std::size_t cycles = 500;
  const auto read = [&] {
    return std::stoull(
        see("select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'lock'"));
  };
  const std::size_t before = read();
  {
    Client mine = client();
    Lock lock = mine.make_lock("a");
    for (std::size_t i = 0; i < cycles; ++i) {
      lock.lock();
      ASSERT_EQ(lock.release(), Released::released);
      ASSERT_TRUE(lock.try_lock());
      lock.unlock();
    }
  }
  // Counted once the session has ended.
  ASSERT_TRUE(eventually([&] { return read() > before + 2 * cycles; }));
  EXPECT_LT(read() - before, 20 * cycles) << "a few for each statement, of which there are five";
}

TEST_F(PostgresNames, ARowThatSomebodyHasDeletedIsMadeAnewByATry) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(lock.try_lock());
  lock.unlock();
  ASSERT_TRUE(lock.try_lock()) << "by now its row is known";
  const Token token = lock.token();
  lock.unlock();
  server().talk().run("delete from mortise.lock");
  EXPECT_TRUE(lock.try_lock());
  EXPECT_GT(lock.token(), token);
  lock.unlock();
}

// What is known of a name is known by its hash only.
TEST_F(PostgresNames, TriesOfManyNamesFindTheirOwnRows) {
  constexpr int names = 1'000;
  Client mine = client();
  Client other = client();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < names; ++i) {
      Lock lock = mine.make_lock("n" + std::to_string(i));
      ASSERT_TRUE(lock.try_lock()) << i;
      ASSERT_FALSE(other.make_lock("n" + std::to_string(i)).try_lock()) << i;
      lock.unlock();
    }
  }
}

}  // namespace
}  // namespace mortise::fault
