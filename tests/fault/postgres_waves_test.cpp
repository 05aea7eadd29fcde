// SPDX-License-Identifier: MIT
// Goal: what many threads of a client ask for together shares transactions, releases never with
// grants, and nobody pays for another one's failure. Method: threads that ask at once, and xmin,
// which tells the transaction that wrote a row. Chance decides who asks while a wave is under way,
// so that sharing is looked for in several rounds.
#include "fault/postgres_fixture.hpp"

#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

constexpr std::size_t threads = 16;

std::string name_of(int round, std::size_t thread) {
  return std::to_string(round) + "/" + std::to_string(thread);
}

void at_once(const std::function<void(std::size_t)>& work) {
  std::latch ready(threads);
  std::vector<std::jthread> all;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, thread] {
      ready.arrive_and_wait();
      work(thread);
    });
  }
}

class PostgresWaves : public PostgresTest {
 protected:
  // The test's own: threads that take for it come and go.
  const Owner owner_ = Owner::unique();
  /// Gives the names of a round their rows. A name's first grant is a subtransaction, whose number
  /// is its `xmin`.
  void make_known(int round) {
    server().talk().run(
        "insert into mortise.lock (name, number, attempt, lease, expires_at, label)"
        " select convert_to('" +
        std::to_string(round) +
        "/' || thread, 'UTF8'), 1, '', 0, '-infinity', '' from generate_series(0, " +
        std::to_string(threads - 1) + ") as thread");
  }
};

TEST_F(PostgresWaves, GrantsShareTransactions) {
  Client mine = client();
  mine.check(patience);
  std::vector<Lock> held;
  for (std::size_t thread = 0; thread < threads; ++thread) held.push_back(mine.make_lock("none"));
  int round = 0;
  const bool shared = eventually([&] {
    make_known(++round);
    at_once([&](std::size_t thread) {
      held[thread] = mine.make_lock(name_of(round, thread));
      EXPECT_TRUE(held[thread].acquire({.owner = owner_}));
    });
    const std::string transactions =
        see("select count(distinct xmin::text) from mortise.lock"
            " where starts_with(convert_from(name, 'UTF8'), $1 || '/')",
            {std::to_string(round)});
    for (Lock& lock : held) EXPECT_EQ(lock.release(owner_), Released::released);
    return std::stoul(transactions) < threads;
  });
  EXPECT_TRUE(shared) << "in none of " << round << " rounds";
}

TEST_F(PostgresWaves, NoReleaseSharesATransactionWithAGrant) {
  Client mine = client();
  constexpr int rounds = 20;
  for (int round = 0; round < rounds; ++round) {
    make_known(round);
    std::vector<Lock> locks;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      locks.push_back(mine.make_lock(name_of(round, thread)));
      if (thread % 2 == 0) {
        EXPECT_TRUE(locks.back().acquire({.owner = owner_}));
      }
    }
    at_once([&](std::size_t thread) {
      if (thread % 2 == 0) {
        EXPECT_EQ(locks[thread].release(owner_), Released::released);
      } else {
        EXPECT_TRUE(locks[thread].acquire({.owner = owner_}));
      }
    });
    ASSERT_EQ(see("select count(*) from mortise.lock as freed join mortise.lock as held"
                  " on freed.xmin = held.xmin"
                  " where freed.expires_at = '-infinity' and held.expires_at > clock_timestamp()"),
              "0");
  }
}

TEST_F(PostgresWaves, AFailureOfOneCostsTheOthersNothing) {
  Client mine = client();
  mine.check(patience);
  server().talk().run(
      "create function public.refuse() returns trigger language plpgsql as"
      " $$ begin raise 'refused'; end $$");
  server().talk().run(
      "create trigger refuse before insert on mortise.lock for each row"
      " when (convert_from(new.name, 'UTF8') like '%/0') execute function public.refuse()");
  constexpr int rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    at_once([&](std::size_t thread) {
      Lock lock = mine.make_lock(name_of(round, thread));
      std::error_code error;
      if (thread == 0) {
        // One that got no answer in its time is in doubt, which is not what this test is about.
        EXPECT_TRUE(eventually([&] {
          EXPECT_FALSE(lock.try_lock_for(100ms, error));
          return error != Errc::in_doubt;
        }));
        EXPECT_EQ(error, Errc::unavailable);
        return;
      }
      EXPECT_TRUE(lock.try_lock_for(patience, error)) << error.message();
      EXPECT_EQ(lock.release(), Released::released);
    });
  }
  EXPECT_EQ(see("select count(*) from mortise.lock where convert_from(name, 'UTF8') like '%/0'"),
            "0");
}

}  // namespace
}  // namespace mortise::fault
