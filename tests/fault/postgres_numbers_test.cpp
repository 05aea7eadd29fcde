// SPDX-License-Identifier: MIT
// Goal: each way to get a lock gives a number above the last one and above all that a lost row may
// have given (S2), whatever the clock and the row say. Method: rows that are set back, as those of
// an old dump, or ahead, as those of a server whose clock ran decades fast.
#include "fault/postgres_fixture.hpp"

#include <string>

namespace mortise::fault {
namespace {

constexpr std::uint64_t ahead = 8'000'000'000'000'000;

/// A way by which the server grants: in one statement, or row by row, with tickets or without.
struct Settings {
  const char* name;
  const char* parameters;
  bool waits;  // somebody does, so that the longer way is taken
};

class PostgresNumbers : public PostgresTest, public ::testing::WithParamInterface<Settings> {
 protected:
  [[nodiscard]] Client client_of_way() { return Client(server().url() + GetParam().parameters); }
  void set_number(std::uint64_t value) {
    PostgresTalk talk = server().talk();
    talk.rows("update mortise.lock set number = $1 where name = 'a'", {std::to_string(value)});
    if (GetParam().waits) {
      talk.run("update mortise.lock set waiters_until = clock_timestamp() + interval '1 hour'");
    }
  }
};

// Promise: S2
TEST_P(PostgresNumbers, GrowWhateverTheRowSays) {
  Client mine = client_of_way();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  lock.lock();
  std::uint64_t last = number("a");
  EXPECT_EQ(lock.release(), Released::released);
  for (int round = 0; round < 2; ++round) {
    set_number(1);
    ASSERT_TRUE(lock.try_lock_for(patience));
    EXPECT_GT(number("a"), last) << "a row that came back gave an old number";
    EXPECT_EQ(grant_of(lock.token()), number("a"));
    last = number("a");
    EXPECT_EQ(lock.release(), Released::released);
  }
  for (std::uint64_t round = 1; round < 3; ++round) {
    if (round == 1) set_number(ahead);
    ASSERT_TRUE(lock.try_lock_for(patience));
    EXPECT_EQ(number("a"), ahead + round) << "the clock alone decided";
    EXPECT_EQ(grant_of(lock.token()), number("a"));
    EXPECT_EQ(lock.release(), Released::released);
  }
}

INSTANTIATE_TEST_SUITE_P(Postgres, PostgresNumbers,
                         ::testing::Values(Settings{"at_once", "", false},
                                           Settings{"pooled", "?mortise.pooled=yes", false},
                                           Settings{"fair", "?mortise.fair=yes", false},
                                           Settings{"fair_behind_others", "?mortise.fair=yes",
                                                    true}),
                         [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace mortise::fault
