// SPDX-License-Identifier: MIT
// Goal: the plain functions, whose one statement counts on the settings of its session, are called
// on sessions of our own only, and there nothing else is; where a session may be anybody's, those
// that bring their settings along. Method: the server counts the calls of each.
#include "fault/postgres_fixture.hpp"

#include <string>

namespace mortise::fault {
namespace {

class PostgresFunctions : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (!IsSkipped()) static_cast<void>(server({.settings = {"track_functions = pl"}}));
  }
  /// What a program does with a lock: a first time, over and over, and in vain.
  static void use(Client mine, Client theirs) {
    Lock lock = mine.make_lock("a");
    Lock other = theirs.make_lock("a");
    for (int round = 0; round < 3; ++round) {
      lock.lock();
      EXPECT_FALSE(other.try_lock());
      lock.unlock();
      EXPECT_TRUE(other.try_lock());
      other.unlock();
    }
    mine.close();  // a session tells what it has counted at its end
    theirs.close();
  }
  /// @return how often it was called from outside and from inside, once that is told.
  [[nodiscard]] std::string calls(const std::string& function) {
    EXPECT_TRUE(eventually([&] {
      return see("select count(*) from pg_stat_activity where usename = 'shop'") == "0";
    }));
    return see("select coalesce(sum(calls), 0) from pg_stat_user_functions where funcname = $1",
               {function});
  }
};

TEST_F(PostgresFunctions, OfASessionOfOurOwnAreThePlainOnes) {
  use(client(), client());
  EXPECT_EQ(calls("take"), "6");
  EXPECT_EQ(calls("release"), "6");
  EXPECT_EQ(calls("take_apart"), "0");
  EXPECT_EQ(calls("release_apart"), "0");
  EXPECT_EQ(calls("take_row"), "1") << "the first one makes the row";
  EXPECT_EQ(calls("release_row"), "0");
}

TEST_F(PostgresFunctions, OfAnybodysSessionAreThoseThatBringTheirSettings) {
  const auto pooled = [&] { return Client(server().url() + "?mortise.pooled=yes"); };
  use(pooled(), pooled());
  EXPECT_EQ(calls("take"), "0");
  EXPECT_EQ(calls("release"), "0");
  EXPECT_EQ(calls("take_apart"), "6");
  EXPECT_EQ(calls("release_apart"), "6");
}

}  // namespace
}  // namespace mortise::fault
