// SPDX-License-Identifier: MIT
// Goal: in the plain case one statement takes a lock, and one releases it, on a session of our own
// without any other call; a session that may be anybody's gets the settings that they need first.
// Method: the server counts the calls of each function.
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

TEST_F(PostgresFunctions, OfASessionOfOurOwnSetNothing) {
  use(client(), client());
  EXPECT_EQ(calls("take"), "6");
  EXPECT_EQ(calls("release"), "6");
  EXPECT_EQ(calls("settle"), "0");
  EXPECT_EQ(calls("take_row"), "1") << "the first one makes the row";
  EXPECT_EQ(calls("release_row"), "0");
}

TEST_F(PostgresFunctions, OfAnybodysSessionBringTheirSettings) {
  const auto pooled = [&] { return Client(server().url() + "?mortise.pooled=yes"); };
  use(pooled(), pooled());
  EXPECT_EQ(calls("take"), "6");
  EXPECT_EQ(calls("release"), "6");
  EXPECT_EQ(calls("settle"), "12");
}

}  // namespace
}  // namespace mortise::fault
